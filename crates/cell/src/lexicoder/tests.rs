//! Order, round trips, refusal of other bytes, and the bytes of Accumulo's own classes.

use std::fmt::Write;

use super::*;
use crate::Result;

fn of<T>(encode: fn(T, &mut Vec<u8>), value: T) -> Vec<u8> {
    let mut out = Vec::new();
    encode(value, &mut out);
    out
}

/// Numbers around every power of 256, of both signs.
fn numbers() -> Vec<u64> {
    let mut all = Vec::new();
    for shift in 0..64 {
        for near in [-2_i64, -1, 0, 1, 2] {
            let power = 1_u64 << shift;
            all.push(power.wrapping_add_signed(near));
            all.push((!power).wrapping_add_signed(near));
        }
    }
    all
}

fn keeps_order<T: Copy, U: PartialEq>(
    mut values: Vec<T>,
    order: fn(&T, &T) -> std::cmp::Ordering,
    encode: fn(T, &mut Vec<u8>),
    decode: fn(&[u8]) -> Result<T>,
    bits: fn(T) -> U,
) {
    values.sort_by(order);
    for pair in values.windows(2) {
        assert_eq!(
            of(encode, pair[0]).cmp(&of(encode, pair[1])),
            order(&pair[0], &pair[1])
        );
    }
    for value in values {
        assert!(bits(decode(&of(encode, value)).unwrap()) == bits(value));
    }
}

#[test]
fn bytes_sort_as_the_numbers_do() {
    let wide = numbers();
    let narrow: Vec<u32> = wide.iter().map(|n| *n as u32).collect();
    keeps_order(wide.clone(), u64::cmp, encode_u64, decode_u64, |n| n);
    keeps_order(narrow.clone(), u32::cmp, encode_u32, decode_u32, |n| n);
    let signed = wide.iter().map(|n| n.cast_signed()).collect();
    keeps_order(signed, i64::cmp, encode_i64, decode_i64, |n| n);
    let signed = narrow.iter().map(|n| n.cast_signed()).collect();
    keeps_order(signed, i32::cmp, encode_i32, decode_i32, |n| n);
    let floats = wide.into_iter().map(f64::from_bits).collect();
    keeps_order(floats, f64::total_cmp, encode_f64, decode_f64, f64::to_bits);
    let floats = narrow.into_iter().map(f32::from_bits).collect();
    keeps_order(floats, f32::total_cmp, encode_f32, decode_f32, f32::to_bits);
}

#[test]
fn other_bytes_are_refused() {
    let longer: &[u8] = &[9, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    let wrong: [&[u8]; 9] = [
        &[],
        &[1],
        &[2, 5],
        &[2, 0, 5],
        &[1, 0],
        &[15, 0xff],
        &[15, 0x7f, 1],
        &[16, 1],
        longer,
    ];
    for bytes in wrong {
        assert!(decode_u64(bytes).is_err(), "{bytes:?}");
        assert!(decode_u32(bytes).is_err(), "{bytes:?}");
    }
    assert!(decode_u64(&[0]).is_ok() && decode_u64(&[16]).is_ok());
    assert!(decode_uuid(&[0; 15]).is_err());
    // Every string of at most three bytes is refused, or is the one encoding of its number.
    for bytes in (0..1_u32 << 24).step_by(7).map(u32::to_be_bytes) {
        for bytes in [&bytes[1..], &bytes[2..]] {
            if let Ok(number) = decode_u64(bytes) {
                assert_eq!(of(encode_u64, number), bytes);
            }
            if let Ok(number) = decode_u32(bytes) {
                assert_eq!(of(encode_u32, number), bytes);
            }
            if let Ok(plain) = decode_reversed(bytes) {
                let mut again = Vec::new();
                reverse(&plain, &mut again);
                assert_eq!(again, bytes);
            }
        }
    }
}

/// All strings of at most four of these bytes.
fn strings() -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new()];
    let mut last = all.clone();
    for _ in 0..4 {
        last = last
            .iter()
            .flat_map(|short| [0, 1, 2, 0xfe, 0xff].map(|byte| [short, &[byte][..]].concat()))
            .collect();
        all.extend_from_slice(&last);
    }
    all
}

#[test]
fn reversed_bytes_sort_in_descending_order() {
    let mut strings = strings();
    strings.sort();
    let reversed: Vec<Vec<u8>> = strings
        .iter()
        .map(|plain| {
            let mut out = Vec::new();
            reverse(plain, &mut out);
            assert_eq!(decode_reversed(&out).unwrap(), *plain);
            out
        })
        .collect();
    assert!(reversed.windows(2).all(|pair| pair[0] > pair[1]));
}

#[test]
fn pairs_sort_by_their_first_part_and_then_by_their_second() {
    let strings: Vec<Vec<u8>> = strings().into_iter().filter(|s| s.len() < 3).collect();
    let mut pairs: Vec<(&[u8], &[u8])> = Vec::new();
    for a in &strings {
        pairs.extend(strings.iter().map(|b| (a.as_slice(), b.as_slice())));
    }
    pairs.sort();
    let encoded: Vec<Vec<u8>> = pairs
        .iter()
        .map(|(a, b)| {
            let mut out = Vec::new();
            push_part(true, a, &mut out);
            push_part(false, b, &mut out);
            assert_eq!(parts(&out).unwrap(), [*a, *b]);
            out
        })
        .collect();
    assert!(encoded.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(parts(&[1]).is_err() && parts(&[1, 3]).is_err());
}

/// The lines of `accumulo.txt`, which Accumulo 2.1 wrote (peers/accumulo, class `Lexicoders`): a type, a value,
/// the bytes.
#[test]
fn the_bytes_are_those_of_accumulo() {
    let mut lines = 0;
    for line in include_str!("accumulo.txt").lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [kind, value, expected] = words[..] else {
            panic!("not three words: {line}");
        };
        let plain = unhex(value);
        let number = || value.parse::<i128>().unwrap();
        let mut out = Vec::new();
        match kind {
            "ulong" => encode_u64(number() as u64, &mut out),
            "uint" => encode_u32(number() as u32, &mut out),
            "long" | "date" => encode_i64(number() as i64, &mut out),
            "int" => encode_i32(number() as i32, &mut out),
            "double" => encode_f64(f64::from_bits(number() as u64), &mut out),
            "float" => encode_f32(f32::from_bits(number() as u32), &mut out),
            "uuid" => encode_uuid(plain.unwrap().try_into().unwrap(), &mut out),
            "reverse" => reverse(&plain.unwrap(), &mut out),
            "list" => {
                for (at, part) in value.split(',').enumerate() {
                    push_part(at == 0, &unhex(part).unwrap(), &mut out);
                }
            }
            other => panic!("unknown type {other}"),
        }
        assert_eq!(hex(&out), expected, "{line}");
        lines += 1;
    }
    assert!(lines > 400, "only {lines} lines");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

/// `-` stands for the empty string.
fn unhex(hex: &str) -> Option<Vec<u8>> {
    if hex == "-" {
        return Some(Vec::new());
    }
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok())
        .collect()
}
