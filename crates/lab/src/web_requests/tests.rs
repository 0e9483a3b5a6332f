use std::collections::BTreeMap;

use ostrakon_events::Record;

use super::clients::part;
use super::{FIELDS, WebRequests};

fn text(requests: &WebRequests, number: u64) -> Vec<String> {
    let mut record = Record::default();
    requests.fill(number, &mut record);
    let fields = record.fields();
    fields
        .map(|(_, value)| String::from_utf8(value.to_vec()).unwrap())
        .collect()
}

#[test]
fn a_request_depends_on_its_number_and_the_seed_alone() {
    let one = WebRequests::new(1000, 7);
    let other = WebRequests::new(1000, 7);
    assert_eq!(text(&one, 999), text(&other, 999));
    assert_ne!(text(&one, 999), text(&one, 998));
    assert_ne!(text(&one, 999), text(&WebRequests::new(1000, 8), 999));
    // Pinned: figures of different versions of the lab are comparable.
    let known = text(&one, 0);
    assert_eq!(known.len(), FIELDS.len());
    assert_eq!(
        known[..5],
        [
            "1378771220.779435",
            "1378771200",
            "site-00037.example",
            "rest",
            "10.1.12.185"
        ]
    );
}

#[test]
fn the_type_is_valid_and_has_more_than_fifty_fields() {
    let definition = WebRequests::new(1, 1).event_type();
    definition.check().unwrap();
    assert!(FIELDS.len() > 50);
    assert_eq!(definition.fields.len(), FIELDS.len());
    assert_eq!(FIELDS.iter().filter(|field| field.indexed).count(), 8);
    for number in 0..50 {
        for (field, value) in FIELDS.iter().zip(text(&WebRequests::new(50, 3), number)) {
            assert!(!value.is_empty(), "{}", field.name);
        }
    }
}

#[test]
fn times_are_in_order_and_even() {
    let requests = WebRequests::new(997, 5);
    let times: Vec<i64> = (0..997).map(|number| requests.time(number)).collect();
    assert!(times.is_sorted());
    let (from, to) = requests.times();
    assert!(times[0] >= from && times[996] < to);
    let (start, _) = requests.last_hour();
    let last = times.iter().filter(|time| **time >= start).count();
    assert!((120..=130).contains(&last), "{last}");
}

#[test]
fn classes_have_their_share() {
    let requests = WebRequests::new(50_000, 11);
    let mut counts: BTreeMap<&str, f64> = BTreeMap::new();
    for number in 0..50_000 {
        let name = requests.share(number).map_or("rest", |share| share.name);
        *counts.entry(name).or_default() += 1.0;
    }
    for share in WebRequests::shares() {
        let expected = share.of_all * 50_000.0;
        let difference = (counts[share.name] - expected).abs();
        assert!(difference <= 3.0, "{} {counts:?}", share.name);
    }
}

#[test]
fn domains_follow_zipf() {
    let requests = WebRequests::new(100_000, 1);
    let mut counts = vec![0_u32; 10_000];
    for number in 0..100_000 {
        counts[requests.domain_rank(number)] += 1;
    }
    // The share of rank r is 1 / (r * H), with H = 9.7876.
    for (rank, expected) in [(1_u32, 10_217.0), (2, 5108.5), (10, 1021.7), (100, 102.2)] {
        let found = f64::from(counts[rank as usize - 1]);
        let deviations = (found - expected) / f64::sqrt(expected);
        assert!(
            deviations.abs() < 4.0,
            "rank {rank}: {found} for {expected}"
        );
    }
}

#[test]
fn parts_of_a_time_meet() {
    let times = (-7, 1_000_003);
    for count in [1, 2, 3, 32] {
        let parts: Vec<(i64, i64)> = (0..count).map(|at| part(times, at, count)).collect();
        assert_eq!((parts[0].0, parts[count - 1].1), times);
        assert!(parts.windows(2).all(|pair| pair[0].1 == pair[1].0));
    }
}
