//! The mutants of a file: small changes that a programmer might make by mistake, each with the text that puts it beside the original, to be
//! chosen at run time.
//!
//! Left out is what no test of behavior is about: tests, what a feature switches on, `Debug` and `Display`, the arguments of macros (assertions and
//! messages), constants, which must be known when it is compiled, and what only asks the processor for memory ahead of its use.

use proc_macro2::Span;
use serde::Serialize;
use std::collections::BTreeMap;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    Arm, Attribute, BinOp, Block, Expr, ExprBinary, ExprMethodCall, ExprRange, ImplItemFn, ItemFn, ItemImpl, ItemMod, ItemTrait, Lit,
    Local, Pat, RangeLimits, ReturnType, Signature, Stmt, TraitItemFn, Type, UnOp,
};

/// What stands in the texts for the question whether this mutant is chosen.
pub const CHOSEN: &str = "{CHOSEN}";

/// A change of the text from `start` to `end`: `before` and `after` go around it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mutant {
    /// File, function, change and a number among equal changes of the function: the same as long as the function stays.
    pub id: String,
    pub file: String,
    pub line: usize,
    /// The lines that are changed, without indentation.
    pub text: String,
    pub start: usize,
    pub end: usize,
    pub before: String,
    pub after: String,
}

/// The mutants of a file, and the modules that it declares and that are left out.
pub fn mutants(file: &str, source: &str) -> syn::Result<(Vec<Mutant>, Vec<String>)> {
    let mut finder = Finder { file, source, scope: Vec::new(), found: Vec::new(), equal: BTreeMap::new(), left_out: Vec::new() };
    finder.visit_file(&syn::parse_file(source)?);
    finder.found.sort_by_key(|mutant| (mutant.start, mutant.end));
    Ok((finder.found, finder.left_out))
}

struct Finder<'a> {
    file: &'a str,
    source: &'a str,
    /// Type and function around.
    scope: Vec<String>,
    found: Vec<Mutant>,
    equal: BTreeMap<String, usize>,
    left_out: Vec<String>,
}

impl Finder<'_> {
    fn text(&self, span: Span) -> &str {
        &self.source[span.byte_range()]
    }

    fn add(&mut self, change: &str, line: usize, range: std::ops::Range<usize>, before: String, after: &str) {
        let place = format!("{} {}: {change}", self.file, self.scope.join("::"));
        let equal = self.equal.entry(place.clone()).or_default();
        *equal += 1;
        let id = if *equal == 1 { place } else { format!("{place} ({equal})") };
        let text = self.source.lines().nth(line - 1).unwrap_or_default().trim().to_string();
        self.found.push(Mutant { id, file: self.file.into(), line, text, start: range.start, end: range.end, before, after: after.into() });
    }

    /// Another expression instead of this one.
    fn replace(&mut self, change: &str, at: Span, whole: Span, by: &str) {
        self.add(change, at.start().line, whole.byte_range(), format!("(if {CHOSEN} {{ {by} }} else {{ "), " })");
    }

    /// The text of `whole` with `part` replaced.
    fn with(&self, whole: Span, part: Span, by: &str) -> String {
        let (whole, part) = (whole.byte_range(), part.byte_range());
        format!("{}{by}{}", &self.source[whole.start..part.start], &self.source[part.end..whole.end])
    }

    fn insert(&mut self, change: &str, at: Span, position: usize, text: String) {
        self.add(change, at.start().line, position..position, text, "");
    }

    fn delete(&mut self, expr: &Expr, end: usize) {
        let span = expr.span();
        let what = match expr {
            Expr::Assign(_) | Expr::Binary(_) => "assignment deleted",
            Expr::Return(_) => "return deleted",
            Expr::Break(_) => "break deleted",
            Expr::Continue(_) => "continue deleted",
            _ => "call deleted",
        };
        self.add(what, span.start().line, span.byte_range().start..end, format!("if !{CHOSEN} {{ "), " }");
    }

    fn function(&mut self, signature: &Signature, block: &Block) {
        let name = signature.ident.to_string();
        if signature.constness.is_some() || is_ahead(&name) {
            return;
        }
        self.scope.push(name);
        let start = block.brace_token.span.open().byte_range().end;
        for value in values(&signature.output) {
            let change = if value.is_empty() { "does nothing".to_string() } else { format!("returns {value}") };
            self.insert(&change, signature.ident.span(), start, format!(" if {CHOSEN} {{ return {value}; }}"));
        }
        if let (ReturnType::Default, Some(Stmt::Expr(last @ (Expr::Call(_) | Expr::MethodCall(_)), None))) =
            (&signature.output, block.stmts.last())
        {
            self.delete(last, last.span().byte_range().end);
        }
        self.visit_block(block);
        self.scope.pop();
    }

    /// A condition, negated unless that is done by another mutant; of a chain with `let`, its parts.
    fn condition(&mut self, condition: &Expr) {
        match condition {
            Expr::Binary(ExprBinary { left, right, .. }) if has_let(condition) => {
                self.condition(left);
                self.condition(right);
            }
            Expr::Let(_) => self.visit_expr(condition),
            _ => {
                let is_comparison = matches!(condition, Expr::Binary(binary) if compares(&binary.op));
                let is_negation = matches!(condition, Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)));
                if !is_comparison && !is_negation {
                    let negated = format!("!({})", self.text(condition.span()));
                    self.replace("condition negated", condition.span(), condition.span(), &negated);
                }
                self.visit_expr(condition);
            }
        }
    }

    fn method(&mut self, call: &ExprMethodCall) {
        let (name, whole, at) = (call.method.to_string(), call.span(), call.method.span());
        let receiver = self.text(call.receiver.span()).to_string();
        if let Some(other) = other_method(&name) {
            let by = self.with(whole, at, other);
            self.replace(&format!("{name} to {other}"), at, whole, &by);
        } else if name == "is_empty" {
            let by = format!("!({})", self.text(whole));
            self.replace("is_empty negated", at, whole, &by);
        } else if name == "div_ceil" && call.args.len() == 1 {
            let by = format!("({receiver}) / ({})", self.text(call.args[0].span()));
            self.replace("div_ceil to /", at, whole, &by);
        } else if name == "rev" && call.args.is_empty() {
            let either = "::flashraid_vocabulary::mutation::Either";
            let before = format!("(if {CHOSEN} {{ {either}::Left({receiver}) }} else {{ {either}::Right(");
            self.add("rev dropped", at.start().line, whole.byte_range(), before, ") })");
        }
    }

    fn range(&mut self, range: &ExprRange) {
        let bound = |expr: &Option<Box<Expr>>| expr.as_deref().filter(|expr| !matches!(expr, Expr::Lit(_))).map(Spanned::span);
        if let Some(start) = bound(&range.start) {
            let by = format!("({}) + 1", self.text(start));
            self.replace("range starts 1 later", start, start, &by);
        }
        if let Some(end) = bound(&range.end) {
            let (change, sign) =
                if matches!(range.limits, RangeLimits::HalfOpen(_)) { ("range ends 1 later", '+') } else { ("range ends 1 earlier", '-') };
            let by = format!("({}) {sign} 1", self.text(end));
            self.replace(change, end, end, &by);
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if item.content.is_none() && is_conditional(&item.attrs) {
            self.left_out.push(item.ident.to_string());
        } else if !is_conditional(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let is_text = |name: &syn::Ident| name == "Debug" || name == "Display";
        let shows = item.trait_.as_ref().and_then(|(path, _)| path.segments.last()).is_some_and(|last| is_text(&last.ident));
        if shows || is_conditional(&item.attrs) {
            return;
        }
        let name = match &*item.self_ty {
            Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default(),
            other => self.text(other.span()).to_string(),
        };
        self.scope.push(name);
        visit::visit_item_impl(self, item);
        self.scope.pop();
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.scope.push(item.ident.to_string());
        visit::visit_item_trait(self, item);
        self.scope.pop();
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if !is_conditional(&item.attrs) {
            self.function(&item.sig, &item.block);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !is_conditional(&item.attrs) {
            self.function(&item.sig, &item.block);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let (Some(block), false) = (&item.default, is_conditional(&item.attrs)) {
            self.function(&item.sig, block);
        }
    }

    // Constants and types must be known at compile time; patterns are no expressions.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_type(&mut self, _: &'ast Type) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_pat(&mut self, _: &'ast Pat) {}

    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_local(&mut self, local: &'ast Local) {
        if !is_conditional(&local.attrs) {
            visit::visit_local(self, local);
        }
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        if let Stmt::Expr(expr, Some(semicolon)) = statement
            && !has_attributes(expr)
            && !calls_ahead(expr)
            && can_go(expr)
        {
            self.delete(expr, semicolon.span().byte_range().end);
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_arm(&mut self, arm: &'ast Arm) {
        if let Pat::Guard(guarded) = &arm.pat {
            let (guard, span) = (&*guarded.guard, guarded.guard.span());
            let range = span.byte_range();
            if has_let(guard) {
                self.insert("guard to false", span, range.start, format!("!{CHOSEN} && "));
                self.condition(guard);
            } else {
                self.add("guard to true", span.start().line, range.clone(), format!("({CHOSEN} || ("), "))");
                self.add("guard to false", span.start().line, range, format!("(!{CHOSEN} && ("), "))");
                self.visit_expr(guard);
            }
        }
        if !is_conditional(&arm.attrs) {
            self.visit_expr(&arm.body);
        }
    }

    fn visit_expr(&mut self, expr: &'ast Expr) {
        if has_attributes(expr) || calls_ahead(expr) {
            return;
        }
        match expr {
            Expr::If(branch) => {
                self.condition(&branch.cond);
                self.visit_block(&branch.then_branch);
                if let Some((_, other)) = &branch.else_branch {
                    self.visit_expr(other);
                }
                return;
            }
            Expr::While(repeated) => {
                self.condition(&repeated.cond);
                return self.visit_block(&repeated.body);
            }
            Expr::Match(choice) if choice.arms.last().is_some_and(|last| takes_all(&last.pat)) => {
                for arm in &choice.arms[..choice.arms.len() - 1] {
                    if !matches!(arm.pat, Pat::Guard(_)) && arm.attrs.is_empty() {
                        let span = arm.pat.span();
                        self.insert("arm removed", span, span.byte_range().end, format!(" if !{CHOSEN}"));
                    }
                }
            }
            Expr::Binary(binary) if !has_let(expr) => {
                for (name, other) in other_operators(&binary.op) {
                    let by = self.with(expr.span(), binary.op.span(), other);
                    self.replace(&format!("{name} to {other}"), binary.op.span(), expr.span(), &by);
                }
            }
            Expr::Unary(unary) if !matches!(unary.op, UnOp::Deref(_)) => {
                let by = self.text(unary.expr.span()).to_string();
                let change = if matches!(unary.op, UnOp::Not(_)) { "! dropped" } else { "- dropped" };
                self.replace(change, expr.span(), expr.span(), &by);
            }
            Expr::MethodCall(call) => self.method(call),
            Expr::Range(range) => self.range(range),
            Expr::Lit(literal) => {
                for by in other_literals(&literal.lit) {
                    let change = format!("{} to {by}", self.text(expr.span()));
                    self.replace(&change, expr.span(), expr.span(), &by);
                }
            }
            _ => {}
        }
        visit::visit_expr(self, expr);
    }
}

fn is_conditional(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("cfg") || attribute.path().is_ident("test"))
}

fn has_attributes(expr: &Expr) -> bool {
    match expr {
        Expr::If(expr) => is_conditional(&expr.attrs),
        Expr::Block(expr) => is_conditional(&expr.attrs),
        Expr::Match(expr) => is_conditional(&expr.attrs),
        Expr::ForLoop(expr) => is_conditional(&expr.attrs),
        Expr::Assign(expr) => is_conditional(&expr.attrs),
        Expr::Call(expr) => is_conditional(&expr.attrs),
        Expr::MethodCall(expr) => is_conditional(&expr.attrs),
        Expr::Return(expr) => is_conditional(&expr.attrs),
        _ => false,
    }
}

/// Asks the processor for memory ahead of its use, which changes nothing.
fn is_ahead(name: &str) -> bool {
    name.starts_with("prefetch")
}

fn calls_ahead(expr: &Expr) -> bool {
    match expr {
        Expr::MethodCall(call) => is_ahead(&call.method.to_string()),
        Expr::Call(call) => {
            matches!(&*call.func, Expr::Path(path) if path.path.segments.last().is_some_and(|last| is_ahead(&last.ident.to_string())))
        }
        _ => false,
    }
}

/// Matches whatever comes. (A name in capitals is a variant or a constant.)
fn takes_all(pat: &Pat) -> bool {
    match pat {
        Pat::Wild(_) => true,
        Pat::Ident(bound) => bound.subpat.is_none() && bound.ident.to_string().starts_with(char::is_lowercase),
        _ => false,
    }
}

fn has_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(ExprBinary { left, op: BinOp::And(_), right, .. }) => has_let(left) || has_let(right),
        _ => false,
    }
}

/// A statement that can be left out; control flow is left out too where it then still builds.
fn can_go(expr: &Expr) -> bool {
    match expr {
        Expr::Call(_) | Expr::MethodCall(_) | Expr::Assign(_) | Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) | Expr::Try(_) => true,
        Expr::Binary(binary) => assigns(&binary.op),
        _ => false,
    }
}

fn compares(op: &BinOp) -> bool {
    use BinOp::*;
    matches!(op, Eq(_) | Ne(_) | Lt(_) | Le(_) | Gt(_) | Ge(_))
}

fn assigns(op: &BinOp) -> bool {
    use BinOp::*;
    matches!(
        op,
        AddAssign(_)
            | SubAssign(_)
            | MulAssign(_)
            | DivAssign(_)
            | RemAssign(_)
            | BitXorAssign(_)
            | BitAndAssign(_)
            | BitOrAssign(_)
            | ShlAssign(_)
            | ShrAssign(_)
    )
}

/// The operator, and each one that is tried instead.
fn other_operators(op: &BinOp) -> Vec<(&'static str, &'static str)> {
    use BinOp::*;
    let (name, others): (&str, &[&str]) = match op {
        Lt(_) => ("<", &["<=", ">="]),
        Le(_) => ("<=", &["<", ">"]),
        Gt(_) => (">", &[">=", "<="]),
        Ge(_) => (">=", &[">", "<"]),
        Eq(_) => ("==", &["!="]),
        Ne(_) => ("!=", &["=="]),
        And(_) => ("&&", &["||"]),
        Or(_) => ("||", &["&&"]),
        Add(_) => ("+", &["-"]),
        Sub(_) => ("-", &["+"]),
        Mul(_) => ("*", &["/"]),
        Div(_) => ("/", &["*"]),
        Rem(_) => ("%", &["/"]),
        Shl(_) => ("<<", &[">>"]),
        Shr(_) => (">>", &["<<"]),
        BitAnd(_) => ("&", &["|"]),
        BitOr(_) => ("|", &["&"]),
        BitXor(_) => ("^", &["|"]),
        AddAssign(_) => ("+=", &["-="]),
        SubAssign(_) => ("-=", &["+="]),
        MulAssign(_) => ("*=", &["/="]),
        DivAssign(_) => ("/=", &["*="]),
        RemAssign(_) => ("%=", &["/="]),
        ShlAssign(_) => ("<<=", &[">>="]),
        ShrAssign(_) => (">>=", &["<<="]),
        BitAndAssign(_) => ("&=", &["|="]),
        BitOrAssign(_) => ("|=", &["&="]),
        BitXorAssign(_) => ("^=", &["|="]),
        _ => ("", &[]),
    };
    others.iter().map(|other| (name, *other)).collect()
}

fn other_method(name: &str) -> Option<&'static str> {
    const PAIRS: [(&str, &str); 9] = [
        ("min", "max"),
        ("min_by_key", "max_by_key"),
        ("any", "all"),
        ("is_some", "is_none"),
        ("first", "last"),
        ("is_some_and", "is_none_or"),
        ("leading_zeros", "trailing_zeros"),
        ("pop_front", "pop_back"),
        ("push_front", "push_back"),
    ];
    PAIRS.iter().find_map(|&(one, other)| if name == one { Some(other) } else { (name == other).then_some(one) })
}

fn other_literals(literal: &Lit) -> Vec<String> {
    match literal {
        Lit::Bool(value) => vec![(!value.value).to_string()],
        Lit::Int(value) => {
            let Ok(number) = value.base10_parse::<u128>() else { return Vec::new() };
            let suffix = value.suffix();
            let less = number.checked_sub(1).map(|less| format!("{less}{suffix}"));
            number.checked_add(1).map(|more| format!("{more}{suffix}")).into_iter().chain(less).collect()
        }
        Lit::Float(value) => vec![format!("({value} + 1.0)")],
        _ => Vec::new(),
    }
}

/// What a function of this type returns instead, nothing included.
fn values(output: &ReturnType) -> Vec<&'static str> {
    let ReturnType::Type(_, output) = output else { return vec![""] };
    match &**output {
        Type::Tuple(tuple) if tuple.elems.is_empty() => vec![""],
        Type::Never(_) | Type::ImplTrait(_) | Type::Reference(_) => Vec::new(),
        Type::Path(path) => match path.path.segments.last().map(|last| last.ident.to_string()).as_deref() {
            Some("bool") => vec!["true", "false"],
            Some("u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i32" | "i64" | "i128") => vec!["0", "1"],
            Some("f32" | "f64") => vec!["0.0", "1.0"],
            Some("Option") => vec!["None"],
            Some("Result") => vec!["Ok(Default::default())"],
            _ => vec!["Default::default()"],
        },
        _ => vec!["Default::default()"],
    }
}
