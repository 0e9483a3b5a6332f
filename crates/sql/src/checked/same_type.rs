//! Functions of one argument whose values have its type: marks in an expression, for the engine or against it.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

/// Such a function. No two have one name.
#[derive(Debug)]
pub(super) struct SameType {
    name: &'static str,
    signature: Signature,
    /// Whether its value may be NULL even if the argument cannot.
    may_be_null: bool,
    change: fn(ColumnarValue) -> Result<ColumnarValue>,
}

impl SameType {
    /// A function whose value depends on its argument alone, and is NULL if that is.
    pub(super) fn new(
        name: &'static str,
        change: fn(ColumnarValue) -> Result<ColumnarValue>,
    ) -> Self {
        Self {
            name,
            signature: Signature::any(1, Volatility::Immutable),
            may_be_null: false,
            change,
        }
    }

    /// A function of which the engine knows nothing: it is not computed before the plan runs.
    pub(super) fn opaque(
        name: &'static str,
        change: fn(ColumnarValue) -> Result<ColumnarValue>,
    ) -> Self {
        Self {
            signature: Signature::any(1, Volatility::Volatile),
            may_be_null: true,
            ..Self::new(name, change)
        }
    }

    pub(super) fn into_function(self) -> Arc<ScalarUDF> {
        Arc::new(ScalarUDF::from(self))
    }
}

impl PartialEq for SameType {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for SameType {}

impl Hash for SameType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for SameType {
    fn name(&self) -> &'static str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        match kinds {
            [kind] => Ok(kind.clone()),
            _ => internal_err!("`{}` takes one argument", self.name),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        match args.arg_fields {
            [field] => Ok(Arc::new(Field::new(
                self.name,
                field.data_type().clone(),
                self.may_be_null || field.is_nullable(),
            ))),
            _ => internal_err!("`{}` takes one argument", self.name),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.into_iter().next() {
            Some(value) => (self.change)(value),
            None => internal_err!("`{}` takes one argument", self.name),
        }
    }
}
