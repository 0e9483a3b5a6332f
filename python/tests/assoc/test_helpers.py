"""What D4M has beside its operators: the largest entries, moving sums, words, files, clicks."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostrakon import Assoc
from ostrakon.errors import InvalidArgumentError

KEYS = st.sampled_from(["a", "b", "ba", "é", "long-key-1", "a,;b", "😀"])
TRIPLES = st.lists(st.tuples(KEYS, KEYS, st.integers(-3, 4)), max_size=14)
TEXTS = st.lists(st.tuples(KEYS, KEYS, st.sampled_from(["u", "v w", "é,", ";\n"])), max_size=9)
FLOATS = st.lists(st.tuples(st.integers(-2, 9), KEYS, st.floats(-9, 9)), max_size=9)


def made(triples, aggregate="min"):
    return Assoc(*([triple[at] for triple in triples] for at in range(3)), aggregate)


@given(triples=TRIPLES, count=st.integers(1, 4))
def test_the_largest_of_each_row_and_column(triples, count):
    array = made(triples)
    judge: dict[str, list] = {}
    for row, col, value in array:
        judge.setdefault(row, []).append((-value, col))
    wanted = {
        (row, col): -value for row, found in judge.items() for value, col in sorted(found)[:count]
    }
    top = array.top_col_per_row(count)
    top.check_canonical()
    assert top.to_dict2() == wanted
    assert array.T.top_row_per_col(count).T.equals(top)
    assert array.TopColPerRow(count).equals(top)
    assert array.T.TopRowPerCol(count).equals(top.T)


def test_the_largest_of_texts_times_and_extremes():
    texts = Assoc("a,a,a,", "x,y,z,", "v,w,u,")
    assert texts.TopColPerRow(1).to_dict2() == {("a", "y"): "w"}
    least = np.iinfo(np.int64).min
    assert Assoc("a,a,", "x,y,", [least, -1]).TopColPerRow(1).to_dict2() == {("a", "y"): -1}
    stamps = Assoc("a,a,", "x,y,", np.array([0, 5], "datetime64[s]"))
    assert stamps.TopColPerRow(1).col.tolist() == ["y"]
    for count in (0, -1, 1.5, True):
        with pytest.raises(InvalidArgumentError, match="count: a whole number above 0"):
            texts.top_col_per_row(count)


def test_rows_and_columns_at_random():
    array = Assoc([f"r{at:03d}" for at in range(100)] * 2, ["x"] * 100 + ["y"] * 100, 1)
    drawn = array.rand_row(10, seed=1)
    assert drawn.shape == (10, 2)
    assert drawn.equals(array[drawn.row, :])
    assert drawn.equals(array.randRow(10, seed=1))
    assert not drawn.equals(array.rand_row(10, seed=2))
    assert array.randCol(1).shape == (100, 1)
    assert array.rand_row(1000) is array
    # Each row is as likely as any other.
    often = np.zeros(100)
    for seed in range(400):
        often[[int(key[1:]) for key in array.rand_row(10, seed).row]] += 1
    assert often.min() > 10
    assert often.max() < 80


@given(
    cells=st.lists(st.tuples(KEYS, st.integers(-5, 12), st.integers(-3, 4)), max_size=12),
    window=st.lists(st.integers(-2, 3), min_size=1, max_size=4),
    origin=st.integers(-2, 5),
)
def test_convolution(cells, window, origin):
    array = made(cells, "sum")
    wanted: dict[tuple, int] = {}
    for row, col, value in array:
        for at, weight in enumerate(window):
            place = (row, col + at - origin)
            wanted[place] = wanted.get(place, 0) + weight * value
    found = array.conv(window, origin)
    found.check_canonical()
    assert found.to_dict2() == {place: value for place, value in wanted.items() if value}
    line = Assoc("a", np.arange(20), np.arange(20) % 5 + 1)
    assert line.conv([1.5, 2, 4]).values.tolist() == np.convolve(line.values, [1.5, 2, 4]).tolist()


def test_convolution_refuses_what_is_none():
    array = Assoc("a,", [3], 1)
    for call, text in [
        (lambda: Assoc("a,", "x,", 1).conv([1]), "column keys are not integers"),
        (lambda: array.conv([]), "window: a list of numbers"),
        (lambda: array.conv([[1]]), "window: a list of numbers"),
        (lambda: array.conv("ab"), "window: a list of numbers"),
        (lambda: Assoc("a,", [2**63 - 1], 1).conv([1, 1]), "beyond 64 bits"),
        (lambda: array.conv(np.ones(1000), limit_bytes=100), "window: 1,000 weights"),
    ]:
        with pytest.raises((TypeError, ValueError), match=text):
            call()


@given(texts=st.lists(st.text(max_size=20), min_size=1, max_size=5))
def test_words(texts):
    import re

    array = Assoc([f"r{at}" for at in range(len(texts))], "text", texts)
    found = array.words()
    found.check_canonical()
    assert all(value >= 1 for value in found.to_dict2().values())
    simple = {
        (row, word): words.count(word)
        for row, _, text in array
        for words in [re.findall(r"[a-z0-9_]+", text.lower())]
        if text.isascii()
        for word in words
    }
    plain = {f"r{at}" for at, text in enumerate(texts) if text.isascii()}
    kept = {place: count for place, count in found.to_dict2().items() if place[0] in plain}
    assert kept == simple


def test_words_of_columns():
    array = Assoc("d,d,", ["body", "title"], ["Über den Wolken, den", "den"])
    assert array.Text2word().to_dict2() == {
        ("d", "den"): 3, ("d", "wolken"): 1, ("d", "über"): 1,
    }  # fmt: skip
    assert array.words("|")[:, "title*"].to_dict2() == {("d", "title|den"): 1}
    assert array.words(lower=False).col.tolist() == ["Wolken", "den", "Über"]
    with pytest.raises(TypeError, match="words: the values are not texts"):
        Assoc("a", "x", 1).words()
    assert Assoc().words().is_empty()


def test_another_matrix_under_the_same_keys():
    array = Assoc("a,b,", "x,y,", [1, 2])
    turned = array.putAdj(array.adj[::-1])
    assert turned.to_dict2() == {("a", "y"): 2, ("b", "x"): 1}
    texts = Assoc("a,b,", "x,y,", "u,v,")
    assert texts.putAdj(texts.adj[::-1]).to_dict2() == {("a", "y"): "v", ("b", "x"): "u"}
    with pytest.raises(ValueError, match="keys for 3 of the matrix"):
        array.putAdj(np.ones((3, 3)))


def test_small_names_of_d4m():
    array = Assoc("a,b,", "x|1,y|2,", "u,v,")
    assert (array.Val(), array.Val(";"), Assoc("a", "x", 1).Val()) == ("u,v,", "u;v;", "")
    assert array.Adj().toarray().tolist() == [[1, 0], [0, 2]]
    assert array.reAssoc() is array
    assert array.NewSep(";") is array
    with pytest.raises(ValueError, match=r"col: the key 'x\|1' contains '\|'"):
        array.NewSep("|")
    assert array.col2val().to_dict2() == {("a", "x"): "1", ("b", "y"): "2"}
    assert array.xor(array[["a"], :]).to_dict2() == {("b", "y|2"): 1}
    numbers = Assoc("a,a,", "x,y,", [1.25, 3])
    assert numbers.num2str("%.1f").values.tolist() == ["1.2", "3.0"]
    assert numbers.num2str().values.tolist() == ["1.25", "3"]
    with pytest.raises(ValueError, match="format: '%q'"):
        numbers.num2str("%q")
    with pytest.raises(ValueError, match="format: 'x'"):
        numbers.num2str("x")
    assert numbers.mtimesCustom(numbers.T, min, max).to_dict2() == {("a", "a"): 1.25}
    assert Assoc("a,a,", "x,x,", "u,v,", "AssocCatStrFunc").values.tolist() == ["u;v"]


# .mat files.


@given(array=st.one_of(TRIPLES.map(made), TEXTS.map(made), FLOATS.map(made)))
def test_mat_there_and_back(array, tmp_path_factory):
    path = tmp_path_factory.mktemp("mat") / "a.mat"
    array.save_mat(path)
    back = Assoc.read_mat(path)
    back.check_canonical()
    assert back.equals(array)
    if len(array):
        assert back.dtype == array.dtype
    assert [one.name for one in path.parent.iterdir()] == ["a.mat"]


def test_mat_keeps_kinds(tmp_path):
    path = tmp_path / "a.mat"
    for array in (
        Assoc("a,b,", "x,", [True, True]),
        Assoc([3, 2**40], [0.5, -1.5], [7, -8]),
        Assoc([""], "x", ["v"]),
        Assoc([f"r{at}" for at in range(5000)], "x", np.arange(1, 5001)),
    ):
        array.save(path, "E")
        assert Assoc.load(path).equals(array)
        assert Assoc.read_mat(path, "E").dtype == array.dtype


def test_mat_as_matlab_writes_it(tmp_path):
    import scipy.io
    import scipy.sparse

    path = tmp_path / "a.mat"

    def read(**fields):
        scipy.io.savemat(path, {"A": fields})
        return Assoc.read_mat(path)

    two = scipy.sparse.csc_array(np.array([[0.0, 2.0], [1.0, 0.0]]))
    wanted = {("a", "y"): 2.0, ("b", "x"): 1.0}
    assert read(row="a,b,", col="x;y;", val="", A=two).to_dict2() == wanted
    assert read(Row="a\nb\n", Col="x\ny\n", Val=1.0, Adj=two).to_dict2() == wanted
    # Keys as a matrix of characters, as cells, and as D4M.py writes them, without the last comma.
    assert read(row=np.array(["a ", "b "]), col="x,y,", val="", adj=two).to_dict2() == wanted
    cells = np.array(["a", "b"], dtype=object)
    assert read(row=cells, col="x,y,", val="", adj=two).to_dict2() == wanted
    assert read(row="a,b", col="x,y", val=1.0, adj=two).to_dict2() == wanted
    # Without keys, positions; keys in any order; texts.
    assert read(row="", col="", val="", A=two).to_dict2() == {(1, 2): 2.0, (2, 1): 1.0}
    assert read(row="b,a,", col="x,y,", val="", A=two).to_dict2() == {
        ("b", "y"): 2.0, ("a", "x"): 1.0,
    }  # fmt: skip
    assert read(row="a,b,", col="x,y,", val="v,u,", A=two).to_dict2() == {
        ("a", "y"): "u", ("b", "x"): "v",
    }  # fmt: skip


def test_other_mat_files_are_refused(tmp_path):
    import scipy.io
    import scipy.sparse

    path = tmp_path / "a.mat"
    one = scipy.sparse.csc_array(np.array([[1.0]]))
    good = {"row": "a,", "col": "x,", "val": "", "adj": one}

    def refused(text, name=None, **variables):
        if variables:
            scipy.io.savemat(path, variables)
        with pytest.raises(InvalidArgumentError, match=text):
            Assoc.read_mat(path, name)

    refused("holds no associative array .* but x, y", x=1, y="text")
    refused("several associative arrays: A, B; say which", A=good, B=good)
    refused("name: .* has no variable 'C', it has A", "C", A=good)
    refused("name: the variable 'x' .* is not an associative array", "x", A=good, x=3)
    refused("row: .*, A: 1 keys for 2 of the matrix", A={**good, "adj": np.ones((2, 1))})
    refused("adj: .*: an entry points outside the 1 texts", A={**good, "val": "v,", "adj": 7.5})
    refused("adj: .*no matrix of numbers", A={**good, "adj": np.array([[1j]])})
    refused("adj: .*NaN", A={**good, "adj": np.array([[np.nan]])})
    path.write_bytes(b"no such thing")
    refused("path: .* is not a readable .mat file")
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124, b" ") + b"\x00\x02IM" + b"\x89HDF\r\n\x1a\n")
    refused("is a .mat file of version 7.3")
    path.write_bytes(b"")
    refused("path: .* is not a readable .mat file")
    scipy.io.savemat(path, {"A": good})
    whole = path.read_bytes()
    for cut in range(130, len(whole), 37):
        path.write_bytes(whole[:cut])
        refused("path: |row: |col: |adj: |val: ")
    with pytest.raises(FileNotFoundError):
        Assoc.read_mat(tmp_path / "none.mat")


def test_what_mat_files_cannot_hold(tmp_path):
    path = tmp_path / "a.mat"
    for array, name, text in [
        (Assoc("a", "x", 1), "1a", "name: '1a' is not a valid name of a Matlab variable"),
        (Assoc("a", "x", 1), "_a", "name: '_a' is not a valid name"),
        (Assoc("a", "x", 1), "a" * 32, "is not a valid name"),
        (Assoc("a", "x", 2**53 + 1), "A", r"above 2\^53"),
        (Assoc("a", "x", np.datetime64("2020-01-01", "s")), "A", "values are timestamps"),
        (Assoc(np.array(["2020-01-01"], "M8[s]"), "x", 1), "A", "row keys are timestamps"),
        (Assoc([",;\n\t|\r" + "".join(map(chr, range(1, 9)))], "x", 1), "A", "row: no character"),
    ]:
        with pytest.raises((TypeError, ValueError), match=text):
            array.save_mat(path, name)
        assert list(tmp_path.iterdir()) == []


# Pages.


def test_html(tmp_path):
    array = Assoc("<a>,b,", "x,y,", ["1 & 2", "3"])
    array.Assoc2HTML(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    table = ET.fromstring(page[page.index("<table>") : page.index("</table>") + 8])
    cells = [[cell.text or "" for cell in line] for line in table.iter("tr")]
    assert cells == [["", "x", "y"], ["<a>", "1 & 2", ""], ["b", "", "3"]]
    assert "… 1 more rows" in array.to_html(rows=1)


KML = "{http://www.opengis.net/kml/2.2}"


def test_kml(tmp_path):
    path = tmp_path / "a.kml"
    airports = Assoc(
        "FRA,FRA,FRA,FRA,NUL,NUL,NUL,",
        "lat,lon,city,alt,lat,lon,city,",
        ["50.033", "8.57", "Frankfurt & Main", "111", "-0.5", "0.25", "Ocean"],
    )
    airports.write_kml(path, altitude=None)
    points = ET.parse(path).getroot().iter(f"{KML}Placemark")
    found = {
        point.findtext(f"{KML}name"): (
            point.findtext(f"{KML}Point/{KML}coordinates"),
            {data.get("name"): data.findtext(f"{KML}value") for data in point.iter(f"{KML}Data")},
        )
        for point in points
    }
    assert found == {
        "FRA": ("8.57,50.033", {"alt": "111", "city": "Frankfurt & Main"}),
        "NUL": ("0.25,-0.5", {"city": "Ocean"}),
    }
    with pytest.raises(InvalidArgumentError, match="missing: the row 'NUL' has no coordinates"):
        airports.write_kml(path, altitude="alt")
    airports.Assoc2KML(path, altitude="alt", name="city", missing="drop")
    text = path.read_text()
    assert text.count("<Placemark>") == 1
    assert "<name>Frankfurt &amp; Main</name>" in text
    assert "<coordinates>8.57,50.033,111</coordinates>" in text
    numbers = Assoc("a,a,", "lat,lon,", [1.5, 2])
    numbers.write_kml(path)
    assert "<coordinates>2,1.5</coordinates>" in path.read_text()


def test_kml_refuses_what_is_not_a_place(tmp_path):
    path = tmp_path / "a.kml"
    for values, options, text in [
        (["91", "0"], {}, "latitude: 91.0 of row 'a' is beyond 90 degrees"),
        (["9", "-181"], {}, "longitude: -181.0 of row 'a' is beyond 180"),
        (["north", "0"], {}, "latitude: the column 'lat': .*'north' is not a number"),
        (["1", "2"], {"latitude": "none"}, "latitude: there is no column 'none'"),
        (["1", "2"], {"missing": "skip"}, "missing: 'error' or 'drop'"),
    ]:
        with pytest.raises(InvalidArgumentError, match=text):
            Assoc("a,a,", "lat,lon,", values).write_kml(path, **options)
    bad = Assoc(["a\x01", "a\x01"], "lat,lon,", [1, 2])
    with pytest.raises(InvalidArgumentError, match="which XML has no form for"):
        bad.write_kml(path)
    assert list(tmp_path.iterdir()) == []


# Texts of CSV.


def test_csv_in_texts(tmp_path):
    array = Assoc("a,b,", "x,y,", ['say "hi", you', "2"])
    assert Assoc.from_csv(array.to_csv()).equals(array)
    assert Assoc.from_csv(array.to_csv(triples=True), triples=True).equals(array)
    array.Assoc2CSV("\n", ";", tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == ';x;y\na;"say ""hi"", you";\nb;;2\n'
    assert Assoc.readcsv(tmp_path / "a.csv", delimiter=";").equals(array)
    array.writecsv(tmp_path / "b.csv")
    assert Assoc.ReadCSV(tmp_path / "b.csv").equals(array)
    with pytest.raises(InvalidArgumentError, match="text, line 2: 1 cells where the header has 2"):
        Assoc.from_csv("id,x\na\n")
    path = tmp_path / "c.csv"
    path.write_text("id,10,2\n1,'a,b',\n7,,3\n")
    options = {"convert_keys": True, "quotechar": "'"}
    read = Assoc.readcsv(path, convert_values=True, **options)
    assert read.to_dict2() == {(1, 10): "a,b", (7, 2): "3"}
    path.write_text("id,10,x\n1,5,6\n")
    read = Assoc.readcsv(path, convert_values=True, convert_keys=True)
    assert read.to_dict2() == {(1, "10"): 5, (1, "x"): 6}
    with pytest.raises(InvalidArgumentError, match="options: "):
        Assoc.readcsv(path, nonsense=1)
    with pytest.raises(InvalidArgumentError, match="row_separator"):
        Assoc.from_csv("", row_separator="")


# Clicks.


def clicked(array, where, **options):
    """What a click in the middle of a cell, or so many pixels beside it, reports."""
    from matplotlib.backend_bases import MouseEvent

    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    found: list[tuple] = []
    axes = array.spy(click=lambda *triple: found.append(triple), **options)
    canvas = axes.figure.canvas
    canvas.draw()
    (row, col), (right, up), button = where
    x, y = np.add(axes.transData.transform((col, row)), (right, up))
    canvas.callbacks.process("button_press_event", MouseEvent(
        "button_press_event", canvas, x, y, button
    ))  # fmt: skip
    plt.close("all")
    return found


def test_a_click_tells_the_entry():
    array = Assoc("a,a,b,", "x,y,x,", [1, 2, 30])
    assert clicked(array, ((1, 0), (0, 0), 1)) == [("b", "x", 30)]
    assert clicked(array, ((0, 1), (3, -3), 1)) == [("a", "y", 2)]
    assert clicked(array, ((1, 1), (0, 0), 1)) == []
    assert clicked(array, ((1, 0), (0, 0), 3)) == []
    texts = Assoc("a,b,", "x,y,", ["r.", "bo"])
    assert clicked(texts, ((1, 1), (0, 0), 1), styles=True) == [("b", "y", "bo")]
    # Many cells to a pixel: the nearest entry within a few pixels.
    large = Assoc(np.arange(5000), np.arange(5000), np.arange(1, 5001))
    ((row, col, value),) = clicked(large, ((2500, 2500), (0, 0), 1))
    assert (row, value) == (col, row + 1)
    assert abs(row - 2500) <= 12
    assert clicked(large, ((100, 4500), (0, 0), 1)) == []
    assert clicked(Assoc(), ((0, 0), (0, 0), 1)) == []
    stamp = np.datetime64("2020-01-01", "s")
    assert clicked(Assoc("a", "x", stamp), ((0, 0), (0, 0), 1)) == [("a", "x", stamp)]


def test_a_click_is_written_where_nobody_asks(capsys):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    from matplotlib.backend_bases import MouseEvent

    axes = Assoc("a", "x", "v").spy()
    axes.figure.canvas.draw()
    x, y = axes.transData.transform((0, 0))
    event = MouseEvent("button_press_event", axes.figure.canvas, x, y, 1)
    axes.figure.canvas.callbacks.process("button_press_event", event)
    assert capsys.readouterr().out == "('a', 'x')  'v'\n"
    plt.close("all")


def test_values_as_styles():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    axes = Assoc("a,a,b,", "x,y,x,", ["r.", "bo", "r."]).spy(styles=True)
    lines = axes.get_lines()
    drawn = [(line.get_color(), line.get_marker(), line.get_linestyle()) for line in lines]
    assert drawn == [("b", "o", "None"), ("r", ".", "None")]
    assert [len(line.get_xdata()) for line in lines] == [1, 2]
    with pytest.raises(InvalidArgumentError, match="styles: the value 'blue!'"):
        Assoc("a", "x", "blue!").spy(styles=True)
    with pytest.raises(TypeError, match="styles: the values are numbers"):
        Assoc("a", "x", 1).spy(styles=True)
    plt.close("all")
