//! Readings by sensor and time; old ones age off, first from scans and then from the disk.
//!
//! ```text
//! last hour: 21.5 22.0
//! latest of each sensor: sensor-1=22.0 sensor-2=19.0
//! entries kept: 3
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ostrakon::{Result, Store};

const HOUR: i64 = 3600 * 1000;

pub(crate) fn main() -> Result<()> {
    let store = Store::in_memory()?;
    let readings = store
        .table_builder("readings")
        .age_off(Duration::from_secs(30 * 24 * 3600))
        .create()?;

    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let now = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
    let measured = [
        ("sensor-1", 40 * 24 * HOUR, "18.0"), // ages off
        ("sensor-1", HOUR / 2, "21.5"),
        ("sensor-1", HOUR / 4, "22.0"),
        ("sensor-2", 5 * HOUR, "19.0"),
    ];
    for (sensor, age, value) in measured {
        let time = now - age;
        readings
            .put(key(sensor, time), ("t", "celsius"), value)
            .timestamp(time)
            .commit()?;
    }

    let hour = key("sensor-1", now)..key("sensor-1", now - HOUR);
    let mut values = Vec::new();
    for entry in readings.scan().rows(hour) {
        values.push(entry?.value_str()?.to_owned());
    }
    values.reverse();
    println!("last hour: {}", values.join(" "));

    // Times are stored newest first, so the latest is the first of its sensor.
    let mut latest = Vec::new();
    for sensor in ["sensor-1", "sensor-2"] {
        if let Some(entry) = readings.scan().row_prefix(sensor).first()? {
            latest.push(format!("{sensor}={}", entry.value_str()?));
        }
    }
    println!("latest of each sensor: {}", latest.join(" "));

    readings.compact()?; // what aged off leaves the disk here
    println!("entries kept: {}", readings.scan().count()?);
    Ok(())
}

/// A row that sorts by sensor and, within it, newest first.
fn key(sensor: &str, millis: i64) -> String {
    format!("{sensor}/{:019}", i64::MAX - millis)
}
