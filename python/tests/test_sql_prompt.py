"""`ostrakon sql` in a terminal: the prompt, its completion and its history."""

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import termios
import time
from pathlib import Path

import pytest

PROGRAM = os.environ.get(
    "OSTRAKON_PROGRAM", str(Path(__file__).parents[2] / "target" / "debug" / "ostrakon")
)
# Generous: it bounds a failure, not what is measured.
PATIENCE = 60.0
LEFT = "\x1b[D"

pytestmark = pytest.mark.skipif(
    not Path(PROGRAM).exists(), reason="the program is not built: cargo build -p ostrakon-cli"
)


class Terminal:
    """The program in a terminal of its own."""

    def __init__(self, folder: Path, *arguments: str, data: str | None = None) -> None:
        self.master, child = pty.openpty()
        environment = {
            **os.environ,
            "OSTRAKON_DATA": data or str(folder / "store"),
            "OSTRAKON_HISTORY": str(folder / "state" / "history"),
            "TERM": "xterm",
        }
        self.process = subprocess.Popen(
            [PROGRAM, "sql", *arguments],
            stdin=child,
            stdout=child,
            stderr=child,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
        os.close(child)
        self.shown = ""

    def wait_for(self, text: str) -> str:
        """What was shown up to `text`, without the codes that move the cursor."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.shown:
            left = deadline - time.monotonic()
            assert left > 0, f"{text!r} did not appear in {self.shown!r}"
            if select.select([self.master], [], [], left)[0]:
                try:
                    some = os.read(self.master, 65536).decode()
                except OSError:
                    some = ""
                assert some, f"the program ended before {text!r}: {self.shown!r}"
                self.shown += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", some)
        before, _, self.shown = self.shown.partition(text)
        return before

    def type(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def end(self, keys: str = "\x04") -> int:
        """The exit status of the program, which ends when `keys` are typed at its prompt."""
        # Again and again: what is typed while a statement runs reaches a terminal in its ordinary
        # mode, where Ctrl-D is not kept for the prompt that follows. And it is read meanwhile,
        # because a terminal that is not read may keep the program from ending.
        deadline = time.monotonic() + PATIENCE
        typed = 0.0
        while self.process.poll() is None:
            now = time.monotonic()
            assert now < deadline, "the program does not end"
            with contextlib.suppress(OSError):
                if now - typed > 0.5:
                    typed = now
                    self.type(keys)
                if select.select([self.master], [], [], 0.05)[0]:
                    os.read(self.master, 65536)
        os.close(self.master)
        return self.process.returncode


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    environment = {**os.environ, "OSTRAKON_DATA": str(tmp_path / "store")}
    create = "CREATE TABLE city (name VARCHAR, population BIGINT, PRIMARY KEY (name))"
    fill = "INSERT INTO city VALUES ('bern', 134000)"
    for statement in [create, fill]:
        subprocess.run(
            [PROGRAM, "sql", "-c", statement], env=environment, check=True, capture_output=True
        )
    return tmp_path


def test_statements_of_several_lines_errors_and_completion(folder: Path) -> None:
    terminal = Terminal(folder, "--auths", "hr")
    assert "authorizations: hr" in terminal.wait_for("sql> ")
    terminal.type("SELECT name,\r")
    terminal.type("population FROM city;\r")
    terminal.wait_for("134000")
    terminal.wait_for("sql> ")
    # An error is shown, and the next statement runs.
    terminal.type("SELECT nothing FROM city;\r")
    terminal.wait_for("error: ")
    terminal.wait_for("sql> ")
    # Tabs complete the names of columns of the table, which has been typed already, and of tables.
    terminal.type("SELECT 7 *  FROM city;" + LEFT * 11 + "popu\t\r")
    terminal.wait_for("938000")
    terminal.wait_for("sql> ")
    terminal.type("SELECT 3 * population FROM cit\t;\r")
    terminal.wait_for("402000")
    terminal.wait_for("sql> ")
    terminal.type("\\f json\r")
    terminal.wait_for("sql> ")
    terminal.type("SELECT * FROM city;\r")
    terminal.wait_for('{"name":"bern","population":134000}')
    terminal.wait_for("sql> ")
    assert terminal.end() == 0


def test_what_is_not_utf8_ends_its_line_only(folder: Path) -> None:
    terminal = Terminal(folder)
    terminal.wait_for("sql> ")
    os.write(terminal.master, b"SELECT caf\xe9\r")
    terminal.wait_for("not UTF-8")
    terminal.wait_for("sql> ")
    terminal.type("SELECT 6 * 7;\r")
    terminal.wait_for("42")
    assert terminal.end() == 0


def test_ctrl_c_never_ends_the_prompt(folder: Path) -> None:
    terminal = Terminal(folder)
    terminal.wait_for("sql> ")
    for number in range(10):
        terminal.type(f"SELECT {number} + 1000;\r")
        # Some of them arrive when the statement has ended, or when the next one has begun.
        for _ in range(3):
            terminal.process.send_signal(signal.SIGINT)
        terminal.wait_for("sql> ")
    time.sleep(1)
    terminal.type("SELECT 6 * 7;\r")
    terminal.wait_for("42")
    assert terminal.end() == 0


def test_the_terminal_has_its_mode_again_after_sigterm(folder: Path) -> None:
    terminal = Terminal(folder)
    terminal.wait_for("sql> ")

    def echoes() -> bool:
        return bool(termios.tcgetattr(terminal.master)[3] & termios.ECHO)

    assert not echoes()
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.process.wait(PATIENCE) == 128 + signal.SIGTERM
    assert echoes()
    os.close(terminal.master)


def test_ctrl_c_discards_a_line_and_ends_a_query_but_not_the_prompt(folder: Path) -> None:
    terminal = Terminal(folder)
    terminal.wait_for("sql> ")
    terminal.type("SELECT 'discarded'\x03")
    terminal.wait_for("sql> ")
    numbers = "SELECT value FROM range(1000000000)"
    endless = f"SELECT count(*) FROM ({numbers}) a, ({numbers}) b WHERE a.value <> b.value;"
    terminal.type(f"SELECT 6 * 7 AS begun; {endless}\r")
    terminal.wait_for("42")
    os.kill(terminal.process.pid, signal.SIGINT)
    terminal.wait_for("Ctrl-C")
    terminal.wait_for("sql> ")
    terminal.type("SELECT 11 * 11 AS product;\r")
    terminal.wait_for("121")
    terminal.wait_for("sql> ")
    assert terminal.end("\\q\r") == 0


def test_the_history_is_kept_for_its_owner_alone(folder: Path) -> None:
    for statement in ["SELECT 1 AS first;", " SELECT 2 AS secret;"]:
        terminal = Terminal(folder)
        terminal.wait_for("sql> ")
        terminal.type(f"{statement}\r")
        terminal.wait_for("sql> ")
        assert terminal.end() == 0
    kept = folder / "state" / "history"
    assert "first" in kept.read_text()
    assert "secret" not in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0
    # The arrow key recalls it.
    terminal = Terminal(folder)
    terminal.wait_for("sql> ")
    terminal.type("\x1b[A\r")
    terminal.wait_for("first")
    terminal.wait_for("sql> ")
    assert terminal.end("exit\r") == 0


def test_the_session_of_the_page_runs_as_printed(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/guide/sql.md").read_text()
    session = re.search(r"```text\n\$ ostrakon sql (.*?)\n(.*?)```", page, re.DOTALL)
    assert session is not None
    arguments, shown = session.groups()
    # The page makes the table further down.
    for statement in re.findall(
        r'^\$ ostrakon sql -c "((?:CREATE|INSERT) .*)"$', page, re.MULTILINE
    ):
        environment = {**os.environ, "OSTRAKON_DATA": str(tmp_path / "store")}
        command = [PROGRAM, "sql", "-c", statement]
        subprocess.run(command, env=environment, check=True, capture_output=True)
    terminal = Terminal(tmp_path, *arguments.split(), data="./store")
    banner, _, rest = shown.partition("sql> ")
    assert terminal.wait_for("sql> ") == banner
    statement, _, printed = rest.partition(";\n")
    # Its lines are shown again at the prompt while they are typed.
    terminal.type((statement + ";\n").replace("\n", "\r"))
    terminal.wait_for("GROUP BY country;")
    assert printed in terminal.wait_for("134000\n") + "134000\n"
    assert printed.count("\n") == 2
    assert terminal.end() == 0
