use stepwell::entropy::distribution::ALIAS;
use stepwell::entropy::tables::{DEFAULT_MAPS, FREQUENCIES, WEIGHTS};
use stepwell::stream::MemorySource;
use stepwell::upsample::{CLASSES, Predictor, SETS};
use stepwell::{Backend, Decoder, Limits, Request};

const SPEC: &str = include_str!("../../src/container/SPEC.md");

/// What stands between the marks of an example.
fn example(name: &str) -> &'static str {
    let mark = format!("<!-- example {name} -->");
    let (_, after) = SPEC.split_once(&mark).unwrap_or_else(|| panic!("SPEC.md has no {mark}"));
    after.split_once("<!-- /example -->").unwrap().0
}

/// The lines of its first code block.
fn code(name: &str) -> Vec<&'static str> {
    example(name).split("```").nth(1).unwrap().lines().filter(|line| !line.is_empty()).collect()
}

fn numbers(name: &str) -> Vec<i32> {
    code(name).iter().flat_map(|line| line.split_whitespace()).map(|n| n.parse().unwrap()).collect()
}

fn coefficients(predictor: Predictor, classes: usize) -> Vec<u8> {
    let bands = (0..SETS).flat_map(|set| (0..3).map(move |band| (set, band)));
    let places = bands.flat_map(|(set, band)| (0..classes).map(move |class| (set, band, class)));
    places
        .flat_map(|(set, band, class)| *predictor.coefficients(set, band, class))
        .flat_map(i16::to_le_bytes)
        .collect()
}

#[test]
fn tables_have_the_checksums_that_the_spec_states() {
    let weights = WEIGHTS.as_flattened().as_flattened().as_flattened().as_flattened();
    let tables: [(&str, Vec<u8>); 7] = [
        ("WEIGHTS", weights.iter().flat_map(|v| v.to_le_bytes()).collect()),
        ("DEFAULT_MAPS", DEFAULT_MAPS.as_flattened().as_flattened().to_vec()),
        ("FREQUENCIES", FREQUENCIES.as_flattened().iter().flat_map(|v| v.to_le_bytes()).collect()),
        ("LINEAR", coefficients(Predictor::Linear, 1)),
        ("COMPACT", coefficients(Predictor::Compact, 1)),
        ("CLASSED", coefficients(Predictor::Classed, CLASSES)),
        ("ALIAS", ALIAS.iter().flatten().flat_map(|v| v.to_le_bytes()).collect()),
    ];
    let line = |(name, bytes): &(&str, Vec<u8>)| {
        format!("| `{name}` | {} | `0x{:08X}` |", bytes.len(), crc32fast::hash(bytes))
    };
    // Of `| table | numbers | bytes | CRC-32 | first numbers |`.
    let stated: Vec<String> = example("crc")
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.split(" | ").collect::<Vec<_>>())
        .map(|cells| format!("{} | {} | {} |", cells[0], cells[2], cells[3]))
        .collect();
    let found: Vec<String> = tables.iter().map(line).collect();
    assert_eq!(
        found, stated,
        "SPEC.md (section 16) is on the right; it also shows first numbers and, in 10 to 12, examples"
    );
}

/// The numbers of the frequencies that section 10.5 relies on.
#[test]
fn frequencies_are_as_the_spec_says() {
    for (d, f) in FREQUENCIES.iter().enumerate() {
        assert_eq!(f.iter().map(|&f| u32::from(f)).sum::<u32>(), 1 << 14, "distribution {d}");
        assert!(f.iter().all(|&f| f >= 1) && f[1] >= 2 && f[2] >= 2, "distribution {d}");
    }
}

/// Section 16: context sums stay inside 32 bits (and inside 31, which `entropy/rows.rs` relies on).
#[test]
fn context_sums_stay_small() {
    // How many magnitudes of at most 2^20 - 1 each term sums at most, but for the first, which is 1.
    const MAGNITUDES: [u64; 9] = [0, 1, 2, 1, 2, 1, 1, 4, 2];
    for weights in WEIGHTS.as_flattened().as_flattened().as_flattened() {
        let terms = weights.iter().zip(MAGNITUDES).map(|(&w, m)| u64::from(w) * m * ((1 << 20) - 1));
        assert!(terms.sum::<u64>() + u64::from(weights[0]) < 1 << 31, "{weights:?}");
    }
}

#[test]
fn the_example_file_decodes_to_the_picture_shown() {
    let hex = code("hex");
    let bytes = hex.iter().flat_map(|line| line.split_whitespace().skip(1));
    let file: Vec<u8> = bytes.map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    for backend in [Backend::Reference, Backend::Cpu] {
        let decoder =
            Decoder::open(MemorySource::new(file.clone()), Limits::default()).unwrap().with_backend(backend);
        for (loq, shown) in [(0, "picture"), (1, "root")] {
            let image = decoder.decode(&Request { loq, ..Request::default() }).unwrap();
            assert_eq!(image.planes[0].samples.data(), numbers(shown), "{backend:?}, LoQ {loq}");
        }
    }
}

#[test]
fn requirements_are_numbered_in_order() {
    let (mut section, mut last) = (0, 0);
    for line in SPEC.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            section += 1;
            last = 0;
            assert!(title.starts_with(&format!("{section} ")), "section {section} is called {title}");
        }
        if let Some(rest) = line.strip_prefix("- MUST ") {
            last += 1;
            let number = rest.split([' ', ':']).next().unwrap();
            assert_eq!(number, format!("{section}.{last}"));
        }
    }
    assert_eq!(section, 16);
}
