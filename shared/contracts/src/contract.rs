//! A stream's payload contract: typed, or a JSON Schema.

use std::borrow::Cow;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::payload::{PLACE_BYTES, PayloadFault};
use crate::tree::{Tree, Trees};

/// Parses the compacted text and serialises the outcome.
type TypedParse = fn(&str) -> Result<String, TypedFault>;

pub(crate) enum TypedFault {
    Refused,
    Unrepresentable,
}

/// What runs on both sides. The schema of a typed contract is there to explain a refusal and for
/// the lock; the type itself decides.
pub(crate) struct Contract {
    pub(crate) schema: Value,
    validator: jsonschema::Validator<Trees>,
    typed: Option<TypedParse>,
}

/// How every schema is run: draft 2020-12, formats asserted. A typed contract's schema names formats
/// (`uint8`) that only its type knows.
pub(crate) fn options<'a>(ignore_unknown_formats: bool) -> jsonschema::ValidationOptions<'a> {
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .should_validate_formats(true)
        .should_ignore_unknown_formats(ignore_unknown_formats)
}

impl Contract {
    pub(crate) fn typed<T>() -> Result<Self, String>
    where
        T: DeserializeOwned + Serialize + schemars::JsonSchema,
    {
        let settings = schemars::generate::SchemaSettings::draft2020_12().for_deserialize();
        let schema = settings.into_generator().into_root_schema_for::<T>().to_value();
        Self::compile(schema, Some(parse::<T>))
    }

    pub(crate) fn json_schema(schema: Value) -> Result<Self, String> {
        Self::compile(schema, None)
    }

    pub(crate) fn is_typed(&self) -> bool {
        self.typed.is_some()
    }

    /// Compiling resolves every `$ref`: a remote, a file or a dangling one is refused here, as is a
    /// bad pattern, without touching the network or the file system.
    fn compile(schema: Value, typed: Option<TypedParse>) -> Result<Self, String> {
        if let Some(draft) = schema.get("$schema").and_then(Value::as_str)
            && draft.trim_end_matches('#') != "https://json-schema.org/draft/2020-12/schema"
        {
            return Err(format!("$schema is {draft:?}; only draft 2020-12 is taken, name that or nothing"));
        }
        let validator = jsonschema::options_for::<Trees>()
            .with_draft(jsonschema::Draft::Draft202012)
            .should_validate_formats(true)
            .should_ignore_unknown_formats(typed.is_some())
            .build(&schema)
            .map_err(|error| format!("schema{}: {error}", error.instance_path()))?;
        Ok(Self { schema, validator, typed })
    }

    /// The output for a compacted payload: the type's serialisation, or the text itself.
    pub(crate) fn output<'a>(&self, text: &Cow<'a, str>) -> Result<Cow<'a, str>, PayloadFault> {
        match self.typed {
            Some(parse) => match parse(text) {
                Ok(output) => Ok(Cow::Owned(output)),
                Err(TypedFault::Unrepresentable) => Err(PayloadFault::Unrepresentable),
                Err(TypedFault::Refused) => Err(self.explain(text)),
            },
            None => {
                // Never fails after the payload's own checks; a fault stays a fault all the same.
                let tree = Tree::parse(text).map_err(|_| refused_by_type())?;
                self.validator.validate(&tree).map(|()| text.clone()).map_err(|error| invalid(&error))
            }
        }
    }

    /// Why the type refused: serde's own message would quote the value, so the schema is asked.
    fn explain(&self, text: &str) -> PayloadFault {
        let Ok(tree) = Tree::parse(text) else { return refused_by_type() };
        self.validator.validate(&tree).err().map_or_else(refused_by_type, |error| invalid(&error))
    }
}

fn parse<T: DeserializeOwned + Serialize>(text: &str) -> Result<String, TypedFault> {
    let value: T = serde_json::from_str(text).map_err(|_| TypedFault::Refused)?;
    serde_json::to_string(&value).map_err(|_| TypedFault::Unrepresentable)
}

fn refused_by_type() -> PayloadFault {
    PayloadFault::Invalid { place: String::new(), rule: "refused by the stream's own type".to_owned() }
}

fn invalid(error: &jsonschema::ValidationError<'_>) -> PayloadFault {
    let keyword = error.kind().keyword();
    let rule = match keyword {
        // These messages would quote keys or whole values of the payload.
        "additionalProperties" | "unevaluatedProperties" | "propertyNames" => {
            format!("a key that the stream doesn't know ({keyword})")
        }
        _ => error.masked().to_string(),
    };
    let place = crate::text::cut(error.instance_path().as_str(), PLACE_BYTES).to_owned();
    PayloadFault::Invalid { place, rule }
}
