//! What planes are called on the command line and in reports.

use stepwell::{PlaneInfo, PlaneKind};

use crate::failure::{Failure, Result};

/// The word for a kind of plane.
pub fn kind_name(kind: PlaneKind) -> &'static str {
    match kind {
        PlaneKind::Gray => "gray",
        PlaneKind::Red => "red",
        PlaneKind::Green => "green",
        PlaneKind::Blue => "blue",
        PlaneKind::Alpha => "alpha",
        PlaneKind::Luma => "luma",
        PlaneKind::ChromaBlue => "cb",
        PlaneKind::ChromaRed => "cr",
        PlaneKind::Depth => "depth",
        PlaneKind::PremultipliedAlpha => "premultiplied-alpha",
        _ => "other",
    }
}

/// A plane's name, or else the word for its kind.
pub fn label(info: &PlaneInfo) -> String {
    if info.name.is_empty() { kind_name(info.kind).into() } else { info.name.clone() }
}

/// Indices of the planes that are asked for by number, name or kind.
pub fn select(wanted: &[String], planes: &[PlaneInfo]) -> Result<Vec<usize>> {
    let find = |word: &String| {
        let by_number = word.parse().ok().filter(|&i: &usize| i < planes.len());
        let by_name = || planes.iter().position(|p| p.name.eq_ignore_ascii_case(word) && !word.is_empty());
        let by_kind = || planes.iter().position(|p| kind_name(p.kind).eq_ignore_ascii_case(word));
        by_number.or_else(by_name).or_else(by_kind).ok_or_else(|| unknown(word, planes))
    };
    wanted.iter().map(find).collect()
}

fn unknown(word: &str, planes: &[PlaneInfo]) -> Failure {
    let all: Vec<_> = planes.iter().enumerate().map(|(i, p)| format!("{i} ({})", label(p))).collect();
    Failure::usage(format!("there is no plane {word:?}")).help(format!("the planes are {}", all.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_are_found_by_number_name_and_kind() {
        let mut planes: Vec<_> =
            [PlaneKind::Red, PlaneKind::Alpha, PlaneKind::Other].map(|kind| PlaneInfo::new(kind, 8)).into();
        planes[2].name = "Infrared".into();
        let select =
            |words: &[&str]| select(&words.iter().map(|&w| w.to_owned()).collect::<Vec<_>>(), &planes);
        assert_eq!(select(&["2", "alpha", "RED", "infrared"]).unwrap(), [2, 1, 0, 2]);
        assert!(select(&["3"]).unwrap_err().to_string().contains("no plane \"3\""));
        assert!(select(&[""]).is_err());
    }
}
