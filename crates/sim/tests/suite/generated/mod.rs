//! What is generated from the types of the result and from the schema of the settings: docs/result.md, the JSON Schema of the result, and
//! the types for Python. `FLASHRAID_BLESS=1` writes it anew.

mod forms;
mod markdown;
mod python;
mod settings;

use crate::support::committed::check_file;
use flashraid_sim::result::{schema, schema_of};
use flashraid_sim::text;
use flashraid_sim::verify::Verified;
use forms::Forms;

fn check(name: &str, fresh: &str) {
    check_file("generated::", name, fresh);
}

#[test]
fn the_document_of_the_result_is_up_to_date() {
    check("docs/result.md", &markdown::document(&Forms::of(schema())));
}

#[test]
fn the_json_schema_is_up_to_date() {
    check("python/flashraid/result.schema.json", &text(&schema()));
}

#[test]
fn the_types_of_the_result_for_python_are_up_to_date() {
    let forms = [Forms::of(schema()), Forms::of(schema_of::<Verified>())];
    check("python/flashraid/result_types.py", &python::module(&forms, &settings::named_words()));
}

#[test]
fn the_types_of_the_settings_for_python_are_up_to_date() {
    check("python/flashraid/setting_types.py", &settings::module());
}

/// Every number says what it counts, here or in an object around it, and every member what it means.
#[test]
fn every_member_has_a_meaning_and_every_number_a_unit() {
    let forms = Forms::of(schema());
    for form in forms.all().filter(|form| !forms.is_configuration(form.name)) {
        for member in &form.members {
            let path = format!("{}.{}", form.name, member.key);
            assert!(member.about.ends_with('.'), "{path}: {:?} is no sentence", member.about);
            let labels =
                ["schema", "seed", "Ssd.number", "Ssd.member", "WearOut.device", "Replacement.old_device", "Replacement.new_device"];
            let is_label = labels.iter().any(|label| [member.key, &path].contains(label));
            let has_unit = forms.places(form).iter().all(|place| forms.unit(place, member).is_some());
            assert!(!member.kind.has_number() || has_unit || is_label, "{path}: a number without a unit");
        }
    }
}
