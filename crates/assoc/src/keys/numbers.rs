//! Keys that are numbers: positions of each in the sorted list of all.

use crate::error::{Result, checked_count};

/// The distinct numbers in ascending order, and for each number its position among them.
///
/// Numbers that lie close together (vertex numbers do) are found by a table over their span; others
/// are sorted.
///
/// # Errors
/// [`crate::Error::TooLarge`] for 2³²−1 numbers or more.
pub fn build_numbers(numbers: &[i64]) -> Result<(Vec<i64>, Vec<u32>)> {
    checked_count("numbers", numbers.len())?;
    let (Some(&low), Some(&high)) = (numbers.iter().min(), numbers.iter().max()) else {
        return Ok((Vec::new(), Vec::new()));
    };
    let span = high.abs_diff(low);
    if span < 4 * numbers.len() as u64 + 1024 {
        return Ok(by_table(numbers, low, span as usize + 1));
    }
    let mut order: Vec<(i64, u32)> = numbers.iter().copied().zip(0..).collect();
    order.sort_unstable();
    let mut distinct = Vec::new();
    let mut inverse = vec![0; numbers.len()];
    for (number, at) in order {
        if distinct.last() != Some(&number) {
            distinct.push(number);
        }
        inverse[at as usize] = distinct.len() as u32 - 1;
    }
    Ok((distinct, inverse))
}

fn by_table(numbers: &[i64], low: i64, span: usize) -> (Vec<i64>, Vec<u32>) {
    let place = |number: &i64| number.wrapping_sub(low) as usize;
    let mut positions = vec![0_u32; span];
    for number in numbers {
        positions[place(number)] = 1;
    }
    let mut distinct = Vec::new();
    for (at, position) in positions.iter_mut().enumerate() {
        if *position == 1 {
            *position = distinct.len() as u32;
            distinct.push(low.wrapping_add(at as i64));
        }
    }
    let inverse = numbers
        .iter()
        .map(|number| positions[place(number)])
        .collect();
    (distinct, inverse)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_are_sorted_and_found(
            numbers in prop::collection::vec(prop_oneof![-5..5_i64, any::<i64>()], 0..40),
            near in any::<bool>(),
        ) {
            let numbers: Vec<i64> =
                numbers.into_iter().map(|n| if near { n % 900 } else { n }).collect();
            let (distinct, inverse) = build_numbers(&numbers).unwrap();
            prop_assert!(distinct.windows(2).all(|pair| pair[0] < pair[1]));
            let back: Vec<i64> = inverse.iter().map(|at| distinct[*at as usize]).collect();
            prop_assert_eq!(back, numbers.clone());
            prop_assert!(distinct.iter().all(|number| numbers.contains(number)));
        }
    }
}
