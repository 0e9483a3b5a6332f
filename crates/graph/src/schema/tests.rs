use ostrakon_cell::{Authorizations, Scanner};

use super::*;
use crate::GraphContext;
use crate::tables::testing::{context, plain_context, read};

fn shown(context: &GraphContext, table: &str) -> String {
    let lines: Vec<String> = read(context, table)
        .into_iter()
        .map(|(row, column, value)| format!("{row} {column} {value}"))
        .collect();
    lines.join(", ")
}

#[test]
fn adjacency_tables_add_up_edges_and_degrees() {
    for context in [context(), plain_context()] {
        let tables = AdjacencyTables::named("T");
        for _ in 0..2 {
            let mut writer = AdjacencyWriter::new(&context, &tables).expect("opens");
            writer.add(b"a", b"b", 1.0).expect("fits");
            writer.add(b"a", b"b", 2.0).expect("fits");
            writer.add(b"b", b"b", 4.0).expect("fits");
            assert!(writer.add(b"a", b"b", 0.5).is_err());
            // Three edges twice, three degrees once.
            assert_eq!(writer.close().expect("written"), 9);
        }
        assert_eq!(shown(&context, "T"), "a b 6, b b 8");
        assert_eq!(shown(&context, "TT"), "b a 6, b b 8");
        assert_eq!(
            shown(&context, "TDeg"),
            "a OutDeg 6, b InDeg 14, b OutDeg 8"
        );
    }
}

#[test]
fn incidence_tables_keep_parallel_edges_apart() {
    let context = context();
    let mut tables = IncidenceTables::named("E");
    tables.id_width = 3;
    let mut writer = IncidenceWriter::new(&context, &tables).expect("opens");
    writer.add(1, b"a", b"b", 1.0).expect("fits");
    writer.add(12, b"a", b"b", 1.0).expect("fits");
    assert_eq!(writer.close().expect("written"), 10);
    assert_eq!(
        shown(&context, "E"),
        "100 In|b 1, 100 Out|a 1, 210 In|b 1, 210 Out|a 1"
    );
    assert_eq!(
        shown(&context, "ET"),
        "In|b 100 1, In|b 210 1, Out|a 100 1, Out|a 210 1"
    );
    assert_eq!(shown(&context, "EDeg"), "In|b Degree 2, Out|a Degree 2");
}

#[test]
fn a_single_table_holds_both() {
    let context = context();
    let mut writer = SingleTableWriter::new(&context, "S", b'|').expect("opens");
    writer.add(b"a", b"b", 1.0).expect("fits");
    writer.add(b"a", b"c", 3.0).expect("fits");
    assert!(writer.add(b"a|x", b"c", 3.0).is_err());
    writer.close().expect("written");
    assert_eq!(
        shown(&context, "S"),
        "a OutDeg 4, a|b edge 1, a|c edge 3, b InDeg 1, c InDeg 3"
    );
}

#[test]
fn every_value_of_a_record_is_indexed() {
    let context = context();
    let mut writer = RecordWriter::new(&context, &RecordTables::named("D")).expect("opens");
    let record = |ip: &'static str, port: &'static str| {
        [("ip".as_bytes(), ip.as_bytes()), (b"port", port.as_bytes())]
    };
    writer
        .add(b"r1", record("x", "80"), Some(b"raw one"))
        .expect("fits");
    writer.add(b"r2", record("y", "80"), None).expect("fits");
    writer.set_label(b"secret").expect("sound");
    writer.add(b"r3", record("y", "80"), None).expect("fits");
    writer.close().expect("written");
    assert_eq!(
        shown(&context, "D"),
        "r1 ip|x 1, r1 port|80 1, r2 ip|y 1, r2 port|80 1"
    );
    assert_eq!(
        shown(&context, "DT"),
        "ip|x r1 1, ip|y r2 1, port|80 r1 1, port|80 r2 1"
    );
    assert_eq!(
        shown(&context, "DDeg"),
        "ip|x Degree 1, ip|y Degree 1, port|80 Degree 2"
    );
    assert_eq!(shown(&context, "DField"), "ip ip 2, port port 2");
    let table = context.table("DTxt").expect("made");
    let text = Scanner::new(table).entries().expect("reads");
    assert_eq!(text[0].value, b"raw one");
    let cleared = GraphContext {
        authorizations: Authorizations::new(["secret"]).expect("sound"),
        ..context
    };
    assert_eq!(
        shown(&cleared, "DDeg"),
        "ip|x Degree 1, ip|y Degree 1, ip|y Degree 1, port|80 Degree 2, port|80 Degree 1"
    );
}
