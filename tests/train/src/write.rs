//! Tables into the source files that hold them. What stands around the numbers stays as it is.

use std::fmt::{Debug, Write};

/// Replaces the numbers of table `name` in `source`. `lines` are the rows that stand on lines of their own, `groups`
/// how many parts each bracket holds, from the second on.
///
/// # Errors
/// If there is no such table.
pub fn replace(source: &str, name: &str, groups: &[usize], lines: &[impl Debug]) -> Result<String, String> {
    let missing = || format!("no table {name} in the source");
    let (head, rest) = source.split_once(&format!("static {name}: ")).ok_or_else(missing)?;
    let (kind, rest) = rest.split_once(" = [\n").ok_or_else(missing)?;
    let (_, tail) = rest.split_once("\n];\n").ok_or_else(missing)?;
    let mut body = String::new();
    write_groups(&mut body, 1, groups, lines).map_err(|e| e.to_string())?;
    Ok(format!("{head}static {name}: {kind} = [\n{body}];\n{tail}"))
}

fn write_groups(out: &mut String, depth: usize, groups: &[usize], lines: &[impl Debug]) -> std::fmt::Result {
    let indent = "    ".repeat(depth);
    let Some((_, deeper)) = groups.split_first() else {
        return lines.iter().try_for_each(|line| writeln!(out, "{indent}{line:?},"));
    };
    for group in lines.chunks(groups.iter().product()) {
        writeln!(out, "{indent}[")?;
        write_groups(out, depth + 1, deeper, group)?;
        writeln!(out, "{indent}],")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepwell::entropy::BANDS;
    use stepwell::entropy::tables::{DEFAULT_MAPS, FREQUENCIES, WEIGHTS};
    use stepwell::upsample::{CLASSES, Predictor, SETS};

    #[test]
    fn the_layout_is_that_of_the_files() {
        let file = include_str!("../../../src/entropy/tables.rs");
        let written = replace(file, "WEIGHTS", &[BANDS, 2], WEIGHTS.as_flattened().as_flattened());
        assert_eq!(written.as_deref(), Ok(file));
        let written = replace(file, "DEFAULT_MAPS", &[BANDS], DEFAULT_MAPS.as_flattened());
        assert_eq!(written.as_deref(), Ok(file));
        assert_eq!(replace(file, "FREQUENCIES", &[], &FREQUENCIES).as_deref(), Ok(file));

        let file = include_str!("../../../src/upsample/tables.rs");
        let of = |predictor: Predictor, classes: usize| -> Vec<_> {
            let bands = (0..SETS).flat_map(|set| (0..BANDS).map(move |band| (set, band)));
            let places = bands.flat_map(|(set, band)| (0..classes).map(move |class| (set, band, class)));
            places.map(|(set, band, class)| predictor.coefficients(set, band, class)).collect()
        };
        let written = replace(file, "CLASSED", &[BANDS, CLASSES], &of(Predictor::Classed, CLASSES));
        assert_eq!(written.as_deref(), Ok(file));
        assert_eq!(replace(file, "LINEAR", &[BANDS], &of(Predictor::Linear, 1)).as_deref(), Ok(file));
        assert_eq!(replace(file, "COMPACT", &[BANDS], &of(Predictor::Compact, 1)).as_deref(), Ok(file));
        assert!(replace(file, "QUADRATIC", &[BANDS], &of(Predictor::Linear, 1)).is_err());
    }
}
