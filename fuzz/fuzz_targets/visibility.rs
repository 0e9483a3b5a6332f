//! Visibility expressions and authorizations: any bytes give a verdict or an error, and the
//! different doors to the same expression agree.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use ostrakon_cell::visibility::{
    Authorizations, Verdict, VisibilityEvaluator, VisibilityExpression, evaluate, validate,
};

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    expression: &'a [u8],
    names: Vec<&'a [u8]>,
    serialised: &'a [u8],
}

fuzz_target!(|input: Input<'_>| {
    if let Ok(read) = Authorizations::deserialise(input.serialised) {
        let again = Authorizations::deserialise(read.serialise().as_bytes());
        assert_eq!(
            again.as_ref(),
            Ok(&read),
            "authorizations survive a round trip"
        );
    }
    let Ok(held) = Authorizations::new(&input.names) else {
        return;
    };

    let parsed = VisibilityExpression::parse(input.expression);
    let valid = validate(input.expression);
    let direct = evaluate(input.expression, &held);
    let mut evaluator = VisibilityEvaluator::new(&held);
    let first = evaluator.evaluate(input.expression);
    assert_eq!(
        first,
        evaluator.evaluate(input.expression),
        "a cached verdict is the same"
    );

    match parsed {
        Ok(expression) => {
            assert_eq!(valid, Ok(()), "what parses is valid");
            let visible = expression.evaluate(&held);
            assert_eq!(direct, Ok(visible), "with and without a tree");
            let wanted = if visible {
                Verdict::Visible
            } else {
                Verdict::Hidden
            };
            assert_eq!(first, wanted, "the evaluator agrees");

            let normal = expression.normalised();
            assert_eq!(
                normal.evaluate(&held),
                visible,
                "normalising keeps the meaning"
            );
            assert_eq!(
                normal.normalised(),
                normal,
                "normalising twice changes nothing"
            );
        }
        Err(error) => {
            assert_eq!(
                valid.as_ref(),
                Err(&error),
                "the doors report the same error"
            );
            assert_eq!(
                first,
                Verdict::Unparsable,
                "what cannot be read is not seen"
            );
        }
    }
});
