use super::*;

/// The changes in `body`, the only function of its file, in the order of the text.
fn changes(body: &str) -> Vec<String> {
    let source = format!("fn f() -> &str {{ {body} }}");
    let (mutants, _) = find::mutants("a.rs", &source).expect("Rust");
    mutants.iter().map(|mutant| mutant.id.strip_prefix("a.rs f: ").expect("place first").to_string()).collect()
}

/// The body with the mutant of this name chosen, as text.
fn mutated(body: &str, change: &str) -> String {
    let source = format!("fn f() -> &str {{ {body} }}");
    let (mutants, _) = find::mutants("a.rs", &source).expect("Rust");
    let mutant = mutants.iter().find(|mutant| mutant.id == format!("a.rs f: {change}")).expect("such a mutant");
    let original = &source[mutant.start..mutant.end];
    format!("{}{original}{}", mutant.before, mutant.after)
}

#[test]
fn operators_are_replaced() {
    assert_eq!(changes("x = a < b;"), ["assignment deleted", "< to <=", "< to >="]);
    assert_eq!(changes("x = a && b || !c;"), ["assignment deleted", "&& to ||", "|| to &&", "! dropped"]);
    assert_eq!(changes("a += b % c;"), ["+= to -=", "assignment deleted", "% to /"]);
    assert_eq!(mutated("x = a < b;", "< to <="), "(if {CHOSEN} { a <= b } else { a < b })");
    assert_eq!(mutated("x = a < b;", "assignment deleted"), "if !{CHOSEN} { x = a < b; }");
}

#[test]
fn numbers_and_bounds_move_by_one() {
    assert_eq!(changes("let x = [7u32, 0];"), ["7u32 to 8u32", "7u32 to 6u32", "0 to 1"]);
    assert_eq!(changes("for i in a..b {}"), ["range starts 1 later", "range ends 1 later"]);
    assert_eq!(changes("for i in 0..=b {}"), ["0 to 1", "range ends 1 earlier"]);
}

#[test]
fn conditions_are_negated_once() {
    assert_eq!(changes("if a {}"), ["condition negated"]);
    assert_eq!(changes("if a == b {}"), ["== to !="]);
    assert_eq!(changes("if !a {}"), ["! dropped"]);
    assert_eq!(changes("if a && let Some(b) = c && d {}"), ["condition negated", "condition negated (2)"]);
}

#[test]
fn arms_and_guards() {
    let body = "match a { A if b => c(), B => d(), _ => e() }";
    assert_eq!(changes(body), ["guard to true", "guard to false", "arm removed"]);
    assert_eq!(mutated(body, "guard to true"), "({CHOSEN} || (b))");
    assert_eq!(changes("match a { A => b(), B => c() }"), [""; 0], "nothing else takes what the arm took");
}

#[test]
fn methods_and_calls() {
    assert_eq!(changes("let a = b.min(c).is_some();"), ["min to max", "is_some to is_none"]);
    assert_eq!(mutated("let a = b.div_ceil(c);", "div_ceil to /"), "(if {CHOSEN} { (b) / (c) } else { b.div_ceil(c) })");
    assert_eq!(changes("a.push(b); return;"), ["call deleted", "return deleted"]);
    assert_eq!(changes("for a in b.rev() {}"), ["rev dropped"]);
}

#[test]
fn functions_return_something_else() {
    let ids = |source: &str| -> Vec<String> {
        find::mutants("a.rs", source).expect("Rust").0.iter().map(|mutant| mutant.id.replace("a.rs ", "")).collect()
    };
    assert_eq!(ids("impl A { fn is(&self) -> bool { self.b } }"), ["A::is: returns true", "A::is: returns false"]);
    assert_eq!(ids("fn f() { }"), ["f: does nothing"]);
    assert_eq!(ids("fn f() -> Option<u8> { None }"), ["f: returns None"]);
}

#[test]
fn what_no_test_of_behavior_is_about_is_left_out() {
    assert_eq!(changes("debug_assert!(a < b);"), [""; 0]);
    assert_eq!(changes("self.prefetch(a + 1);"), [""; 0]);
    assert_eq!(changes("#[cfg(feature = \"mutants\")] if a {}"), [""; 0]);
    assert_eq!(changes("let a = [0u8; 7];"), ["0u8 to 1u8"], "not the length");
    for source in [
        "#[cfg(test)] mod tests { fn f() {} }",
        "impl std::fmt::Debug for A { fn fmt(&self) {} }",
        "const A: u32 = 1 + 2;",
        "const fn f() {}",
        "fn prefetch_map() {}",
    ] {
        assert_eq!(find::mutants("a.rs", source).expect("Rust").0, []);
    }
    let (_, left_out) = find::mutants("a/mod.rs", "#[cfg(test)]\nmod tests;\nmod others;").expect("Rust");
    assert_eq!(left_out, ["tests"]);
    assert_eq!(module(Path::new("a/mod.rs"), "tests"), Path::new("a/tests.rs"));
    assert_eq!(module(Path::new("a/b.rs"), "tests"), Path::new("a/b/tests.rs"));
}
