//! A JSON Schema as schemars makes it, taken apart into objects and their members.

use serde_json::Value;

/// What a member may be.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Integer,
    Number,
    Text,
    Truth,
    /// One of these texts.
    Words(Vec<String>),
    /// One of these whole numbers.
    Whole(Vec<u64>),
    /// An object of the form of this name.
    Object(String),
    /// An object with any names, and values of one kind.
    Map(Box<Kind>),
    List(Box<Kind>),
}

impl Kind {
    /// Whether it holds numbers of its own, which need a unit.
    pub fn has_number(&self) -> bool {
        match self {
            Kind::Integer | Kind::Number | Kind::Whole(_) => true,
            Kind::Map(of) | Kind::List(of) => of.has_number(),
            Kind::Text | Kind::Truth | Kind::Words(_) | Kind::Object(_) => false,
        }
    }

    /// The name of the form in it, and what stands behind a path to get there.
    fn inside(&self) -> Option<(&str, &'static str)> {
        match self {
            Kind::Object(name) => Some((name, "")),
            Kind::List(of) => of.inside().map(|(name, _)| (name, "[]")),
            _ => None,
        }
    }
}

/// A member of an object.
#[derive(Debug)]
pub struct Member {
    pub key: &'static str,
    pub kind: Kind,
    pub is_nullable: bool,
    pub about: String,
    unit: Option<String>,
}

/// An object.
#[derive(Debug)]
pub struct Form {
    pub name: &'static str,
    pub about: String,
    pub members: Vec<Member>,
    unit: Option<String>,
}

/// A place at which a form is found, and the unit that it inherits there.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its path, empty for the whole.
    pub path: String,
    unit: Option<String>,
}

/// All objects of a schema, each before those in it.
pub struct Forms(Vec<Form>);

/// For the time of a test.
fn leak(text: &str) -> &'static str {
    text.to_owned().leak()
}

fn text(schema: &Value, key: &str) -> Option<String> {
    schema[key].as_str().map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
}

impl Forms {
    pub fn of(schema: Value) -> Self {
        let mut forms = Self(Vec::new());
        forms.add(schema["title"].as_str().expect("a title"), &schema, &schema["$defs"]);
        forms
    }

    fn add(&mut self, name: &str, schema: &Value, definitions: &Value) {
        if self.0.iter().any(|form| form.name == name) {
            return;
        }
        let properties = schema["properties"].as_object().unwrap_or_else(|| panic!("{name} is no object"));
        let members: Vec<_> = properties.iter().map(|(key, schema)| member(key, schema, definitions)).collect();
        let inside: Vec<String> = members.iter().filter_map(|member| member.kind.inside().map(|(name, _)| name.to_owned())).collect();
        let about = text(schema, "description").unwrap_or_default();
        self.0.push(Form { name: leak(name), about, members, unit: text(schema, "unit") });
        inside.iter().for_each(|name| self.add(name, &definitions[name], definitions));
    }

    pub fn all(&self) -> impl Iterator<Item = &Form> {
        self.0.iter()
    }

    pub fn whole(&self) -> &Form {
        &self.0[0]
    }

    /// Whether a form is the configuration or a table of it.
    pub fn is_configuration(&self, name: &str) -> bool {
        let config = self.0.iter().find(|form| form.name == "Config");
        let of_config = |form: &Form| form.members.iter().any(|member| member.kind == Kind::Object(name.into()));
        name == "Config" || config.is_some_and(of_config)
    }

    /// Every place of a form.
    pub fn places(&self, form: &Form) -> Vec<Place> {
        if form.name == self.whole().name {
            return vec![Place { path: String::new(), unit: None }];
        }
        let mut places = Vec::new();
        for other in &self.0 {
            for (member, behind) in other
                .members
                .iter()
                .filter_map(|member| member.kind.inside().filter(|(name, _)| *name == form.name).map(|(_, behind)| (member, behind)))
            {
                places.extend(self.places(other).iter().map(|place| Place {
                    path: path(place, member) + behind,
                    unit: form.unit.clone().or_else(|| self.unit(place, member)),
                }));
            }
        }
        places
    }

    /// The unit of a member of a form at this place.
    pub fn unit(&self, place: &Place, member: &Member) -> Option<String> {
        member.unit.clone().or_else(|| place.unit.clone())
    }
}

/// The path of a member of a form at this place.
pub fn path(place: &Place, member: &Member) -> String {
    if place.path.is_empty() { member.key.into() } else { format!("{}.{}", place.path, member.key) }
}

fn member(key: &str, schema: &Value, definitions: &Value) -> Member {
    let (kind, is_nullable) = kind(schema, definitions).unwrap_or_else(|| panic!("{key}: {schema}"));
    Member { key: leak(key), kind, is_nullable, about: text(schema, "description").unwrap_or_default(), unit: text(schema, "unit") }
}

/// What a schema allows, and whether null too.
fn kind(schema: &Value, definitions: &Value) -> Option<(Kind, bool)> {
    let of = |schema: &Value| kind(schema, definitions);
    if let Some(choices) = schema["anyOf"].as_array() {
        let [some, null] = choices.as_slice() else { return None };
        return (null["type"] == "null").then(|| of(some).map(|(kind, _)| (kind, true)))?;
    }
    if let Some(name) = schema["$ref"].as_str().map(|path| path.trim_start_matches("#/$defs/")) {
        let definition = &definitions[name];
        let is_object = definition["properties"].is_object();
        return if is_object { Some((Kind::Object(name.into()), false)) } else { of(definition) };
    }
    let words =
        |list: &Value| list.as_array().map(|words| words.iter().filter_map(|word| word.as_str().map(String::from)).collect::<Vec<_>>());
    if let Some(choices) = schema["oneOf"].as_array() {
        let words: Option<Vec<_>> = choices.iter().map(|choice| choice["const"].as_str().map(String::from)).collect();
        return Some((Kind::Words(words?), false));
    }
    let (name, is_nullable) = match &schema["type"] {
        Value::String(name) => (name.as_str(), false),
        Value::Array(names) if names.len() == 2 && names[1] == "null" => (names[0].as_str()?, true),
        _ => return None,
    };
    let kind = match name {
        "string" if schema["enum"].is_array() => Kind::Words(words(&schema["enum"])?),
        "string" => Kind::Text,
        "integer" if schema["enum"].is_array() => Kind::Whole(schema["enum"].as_array()?.iter().filter_map(Value::as_u64).collect()),
        "integer" => Kind::Integer,
        "number" => Kind::Number,
        "boolean" => Kind::Truth,
        "array" => Kind::List(Box::new(of(&schema["items"])?.0)),
        "object" => Kind::Map(Box::new(of(&schema["additionalProperties"])?.0)),
        _ => return None,
    };
    Some((kind, is_nullable))
}
