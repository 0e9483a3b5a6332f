"""Files, other libraries, pictures, hierarchies."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostrakon import Assoc
from ostrakon.assoc import HierAssoc

NUMBERS = Assoc("a,a,é,", "x,y,x,", [1, 2, 30])
FLOATS = Assoc("a,a,é,", "x,y,x,", [1.5, 2.0, -3e9])
TEXTS = Assoc("a,a,é,", "x,y,x,", ['say "hi", you', "two\nlines", "ü"])
STAMPS = Assoc("a,b,", "x,", np.array([0, 5], "datetime64[us]"))
BOOLS = Assoc("a,b,", "x,", [True, True])
KEYED = Assoc([3, 1], [2.5, 0.5], [1, 2])


@pytest.mark.parametrize("array", [NUMBERS, FLOATS, TEXTS])
@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
@pytest.mark.parametrize("triples", [False, True])
def test_csv(array, name, triples, tmp_path):
    array.write_csv(tmp_path / name, triples=triples)
    back = Assoc.read_csv(tmp_path / name, triples=triples, convert=True)
    assert back.to_dict2() == array.to_dict2()
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_csv_as_people_write_it(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\ufeffid,x,y\na,1,\nb,,2\n", encoding="utf-8")
    assert Assoc.ReadCSV(path).to_dict2() == {("a", "x"): "1", ("b", "y"): "2"}
    path.write_text("1,2\n3,4\n")
    assert Assoc.read_csv(path, labels=False, convert=True).to_dict2() == {
        (0, 0): 1, (0, 1): 2, (1, 0): 3, (1, 1): 4,
    }  # fmt: skip
    path.write_text("id,x,y\na,1\n")
    with pytest.raises(ValueError, match=r"t\.csv, line 2: 2 cells where the header has 3"):
        Assoc.read_csv(path)
    path.write_bytes(b"id,x\na,\xff\n")
    with pytest.raises(ValueError, match=r"t\.csv, line"):
        Assoc.read_csv(path)


def test_json(tmp_path):
    for array in (NUMBERS, FLOATS, TEXTS):
        array.write_json(tmp_path / "t.json")
        assert Assoc.read_json(tmp_path / "t.json").equals(array)
    with pytest.raises(ValueError, match="text: no JSON"):
        Assoc.from_json("{")
    with pytest.raises(ValueError, match="text: a JSON object"):
        Assoc.from_json("[1]")


def test_matrix_market(tmp_path):
    for array in (NUMBERS, FLOATS, KEYED):
        array.write_matrix_market(tmp_path / "t.mtx")
        assert Assoc.read_matrix_market(tmp_path / "t.mtx").equals(array)
    (tmp_path / "t.mtx.rows").unlink()
    (tmp_path / "t.mtx.cols").unlink()
    assert Assoc.read_matrix_market(tmp_path / "t.mtx").to_dict2() == {(1, 1): 2, (2, 2): 1}
    with pytest.raises(TypeError, match="hold numbers"):
        TEXTS.write_matrix_market(tmp_path / "t.mtx")


@pytest.mark.parametrize("array", [NUMBERS, FLOATS, TEXTS, STAMPS, BOOLS, KEYED])
def test_there_and_back(array, tmp_path):
    array.write_parquet(tmp_path / "t.parquet")
    for back in (
        Assoc.read_parquet(tmp_path / "t.parquet"),
        Assoc.from_arrow(array.to_arrow()),
        Assoc.from_pandas(array.to_pandas()),
        Assoc.from_polars(array.to_polars()),
        Assoc.from_dict(array.to_dict()),
        Assoc.from_dict(array.to_dict2()),
    ):
        back.check_canonical()
        assert back.equals(array)
        if array is not STAMPS:
            assert back.dtype == array.dtype


def test_wide_frames():
    frame = NUMBERS.to_pandas(wide=True)
    assert frame.loc["a", "y"] == 2
    assert Assoc.from_pandas(frame, row=None).equals(NUMBERS)


def test_matrices():
    for array in (NUMBERS, FLOATS):
        assert array.to_scipy().shape == array.shape
        assert Assoc.from_scipy(array.to_scipy(), array.row, array.col).equals(array)
        # Keys in any order.
        assert Assoc.from_scipy(array.to_scipy()[::-1], array.row[::-1], array.col).equals(array)
    assert TEXTS.adj.toarray().tolist() == [[1, 2], [3, 0]]
    with pytest.raises(ValueError, match="row: 1 keys for 2 of the matrix"):
        Assoc.from_scipy(NUMBERS.to_scipy(), "a,", NUMBERS.col)


def test_graphblas():
    pytest.importorskip("graphblas")
    matrix = NUMBERS.to_graphblas()
    assert Assoc.from_graphblas(matrix, NUMBERS.row, NUMBERS.col).equals(NUMBERS)


def test_networkx():
    import networkx as nx

    graph = NUMBERS.to_networkx()
    assert graph["a"]["y"]["weight"] == 2
    assert Assoc.from_networkx(graph).equals(NUMBERS)
    path = nx.path_graph(["a", "b", "c"])
    assert Assoc.from_networkx(path).to_dict2() == {
        ("a", "b"): 1, ("b", "a"): 1, ("b", "c"): 1, ("c", "b"): 1,
    }  # fmt: skip


def test_tables_for_the_eye(capsys):
    NUMBERS.printfull()
    assert capsys.readouterr().out == "    x  y\na   1  2\né  30\n"
    out = io.StringIO()
    NUMBERS.printfull(1, 1, file=out)
    assert out.getvalue() == "   x\na  1\n… 1 more rows\n… 1 more columns\n"
    assert Assoc("<b>", "x&y", "<i>")._repr_html_().count("&lt;") == 2
    large = Assoc(np.arange(100_000), 0, 1)
    assert repr(large).startswith("Assoc of 100,000 entries, 100,000 rows by 1 columns\n(0, 0)  1")
    assert len(repr(large)) < 600


def test_plots_return_axes():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    for axes in (NUMBERS.spy(), TEXTS.spy(color="red"), NUMBERS.plot_degrees(), Assoc().spy()):
        axes.figure.canvas.draw()
    axes = NUMBERS.spy()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "é"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]
    assert NUMBERS.plot_degrees(axes, base=2.0) is axes
    assert len(Assoc(np.arange(1000), np.arange(1000), 1).spy().get_xticks()) == 20
    plt.close("all")


@settings(deadline=None)
@given(
    batches=st.lists(
        st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=8), max_size=12
    )
)
def test_hierarchies_add_up(batches):
    hierarchy = HierAssoc(cuts=[3, 9])
    everything = [place for batch in batches for place in batch]
    for batch in batches:
        hierarchy.update([row for row, _ in batch], [col for _, col in batch], 1)
        assert len(hierarchy.levels[0]) <= 3
        assert len(hierarchy.levels[1]) <= 9
    assert hierarchy.updates == len(everything)
    wanted = {place: everything.count(place) for place in everything}
    assert hierarchy.total().to_dict2() == wanted


def test_d4m_names():
    array = Assoc("a,b,", "x,y,", "1,2,")
    assert array.str2num().num2str().equals(array)
    assert array.putCol("c,").col.tolist() == ["c"]
    assert array.putRow(["r"]).to_dict2() == {("r", "x"): "1", ("r", "y"): "2"}
    assert array.putVal("v,").values.tolist() == ["v", "v"]
    assert (array.Row(), array.Col(";")) == ("a,b,", "x;y;")
    assert array.noRow().to_dict2() == {(0, "x"): 1, (0, "y"): 1}
    assert array.Abs0().equals(array.logical())
    assert array.sum(1).putCol("Degree,").to_dict2() == {("a", "Degree"): 1, ("b", "Degree"): 1}
    assert array.isequal(array)
    assert array.size() == (2, 2)


def test_nothing_heavy_is_loaded():
    import subprocess

    code = (
        "import sys; from ostrakon import Assoc; A = Assoc('a,', 'x,', 1); A @ A + A\n"
        "print([m for m in ('scipy', 'pandas', 'pyarrow', 'matplotlib') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout == "[]\n"
