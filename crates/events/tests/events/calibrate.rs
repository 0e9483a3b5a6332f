//! Measuring when an index pays.

use ostrakon_cell::ErrorKind;
use ostrakon_events::{Calibration, IngestOptions, Record};

use super::support::{everything, open_web};

/// Of few events, the times were those of beginning a query, and the threshold was noise.
#[test]
fn few_events_leave_the_threshold_as_it_is() {
    let (_, store) = open_web();
    let least = usize::try_from(Calibration::EVENTS_MIN).expect("few");
    let names = ["ts", "host", "port"].map(str::to_owned);
    let ingest = |numbers: std::ops::Range<usize>| {
        let mut ingest = store
            .ingest("web", IngestOptions::default())
            .expect("a type");
        for number in numbers {
            let mut record = Record::default();
            let values = [number.to_string(), format!("h{}", number % 7), "80".into()];
            for (at, value) in values.iter().enumerate() {
                record.push(at as u32, value.as_bytes());
            }
            assert_eq!(ingest.add(&names, &record).expect("added"), None);
        }
        ingest.finish().expect("committed");
    };
    let usual = store.threshold("web").expect("a type");
    ingest(0..least - 1);
    let error = store.calibrate(&everything()).expect_err("too few");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let text = error.to_string();
    assert!(
        text.contains("at least 10,000") && text.contains("events: 9999"),
        "{text}"
    );
    assert_eq!(store.threshold("web").expect("a type"), usual);
    ingest(least - 1..least);
    let measured = store.calibrate(&everything()).expect("measured");
    assert!(measured.scanned_per_second > 0.0 && measured.fetched_per_second > 0.0);
    assert_eq!(store.threshold("web").expect("a type"), measured.threshold);
}
