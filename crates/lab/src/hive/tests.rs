use super::{Expected, HiveData};

#[test]
fn pages_are_linked_after_zipf_and_those_without_a_link_are_left_out() {
    let data = HiveData::new(2000, 10, 7);
    let links: u32 = (0..2000).filter_map(|page| data.rank(page)).sum();
    // 5 % of 800 for each page, rounded down.
    assert!((78_000..80_000).contains(&links), "{links}");
    assert!(
        data.rank(0) > data.rank(9).map(|rank| 5 * rank),
        "the first is the most frequent"
    );
    let few = HiveData::new(50_000, 1, 7);
    assert!(few.rankings() < few.pages(), "some page has no link");
    assert_eq!(data.url(5), HiveData::new(2000, 10, 7).url(5));
    assert_ne!(data.url(5), HiveData::new(2000, 10, 8).url(5));
}

#[test]
fn dates_are_those_of_the_calendar() {
    let data = HiveData::new(1, 1, 1);
    assert_eq!(data.date(0), "1970-01-01");
    assert_eq!(data.date(10_957), "2000-01-01");
    assert_eq!(data.date(11_016), "2000-02-29");
    assert_eq!(data.date(15_460), "2012-04-30");
    assert_eq!(data.date(15_461), "");
}

#[test]
fn rows_are_lines_and_their_bytes_are_counted_without_number_and_header() {
    let data = HiveData::new(100, 50, 3);
    let mut rankings = Vec::new();
    let bytes = data.write_rankings(&mut rankings).unwrap();
    let text = String::from_utf8(rankings).unwrap();
    assert_eq!(text.lines().count() as u64, data.rankings() + 1);
    assert_eq!(
        bytes as usize,
        text.len() - "pageurl,pagerank,avgduration\n".len()
    );
    let mut visits = Vec::new();
    let bytes = data.write_visits(&mut visits).unwrap();
    let text = String::from_utf8(visits).unwrap();
    assert_eq!(text.lines().count(), 51);
    let rows = text.lines().skip(1);
    let expected: usize = rows
        .map(|row| row.len() + 1 - row.find(',').unwrap() - 1)
        .sum();
    assert_eq!(bytes as usize, expected);
    assert!(text.lines().all(|row| row.split(',').count() == 10));
}

#[test]
fn the_answers_follow_from_the_visits() {
    let data = HiveData::new(200, 3000, 5);
    let expected = Expected::of(&data);
    // Addresses are drawn from all there are: hardly any comes twice.
    assert!((2990..=3000).contains(&expected.groups));
    let sum: f64 = (0..3000).map(|number| data.visit(number).revenue).sum();
    assert_eq!(expected.revenue, sum);
    let top = expected.top.unwrap();
    assert!(top.revenue > 500.0 && !top.addresses.is_empty(), "{top:?}");
}
