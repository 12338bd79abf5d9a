//! Names of a TIFF file's planes, as GDAL keeps them: in the XML of a field of its own.

use std::fmt::Write;

/// The field that holds the XML.
pub const METADATA: u16 = 42112;

/// Names of the first `planes` planes; empty where there is none.
pub fn names(xml: &str, planes: usize) -> Vec<String> {
    let mut names = vec![String::new(); planes];
    for item in xml.split("<Item ").skip(1) {
        let Some((attributes, rest)) = item.split_once('>') else { continue };
        let Some((text, _)) = rest.split_once("</Item>") else { continue };
        let plane = attribute(attributes, "sample").and_then(|s| s.parse::<usize>().ok());
        let is_name = attribute(attributes, "role") == Some("description");
        if let Some(name) = plane.filter(|_| is_name).and_then(|p| names.get_mut(p)) {
            *name = unescape(text);
            // Plane names are that short; a longer one is cut between two characters.
            let end = (0..=name.len().min(255)).rev().find(|&i| name.is_char_boundary(i));
            name.truncate(end.unwrap_or(0));
        }
    }
    names
}

/// The XML for these names; none where there are none.
pub fn xml<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut items = String::new();
    for (plane, name) in names.enumerate().filter(|(_, name)| !name.is_empty()) {
        let name = escape(name);
        writeln!(items, "  <Item name=\"DESCRIPTION\" sample=\"{plane}\" role=\"description\">{name}</Item>")
            .expect("a string takes everything");
    }
    (!items.is_empty()).then(|| format!("<GDALMetadata>\n{items}</GDALMetadata>\n"))
}

fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = attributes.split_once(&format!("{name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

const ESCAPES: [(&str, &str); 4] = [("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("&", "&amp;")];

fn escape(text: &str) -> String {
    // `&` first: the other escapes contain it.
    ESCAPES.iter().rev().fold(text.to_owned(), |text, (plain, escaped)| text.replace(plain, escaped))
}

fn unescape(text: &str) -> String {
    ESCAPES.iter().fold(text.to_owned(), |text, (plain, escaped)| text.replace(escaped, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_writing_and_reading() {
        let given = ["", "near infrared", "a < b & \"c\" &lt;", "ä"];
        assert_eq!(names(&xml(given.into_iter()).unwrap(), 4), given);
        assert_eq!(xml(["", ""].into_iter()), None);
    }

    #[test]
    fn other_items_and_planes_are_passed_over() {
        let text = "<GDALMetadata><Item name=\"OFFSET\" sample=\"0\" role=\"offset\">3</Item>\
                    <Item name=\"DESCRIPTION\" sample=\"1\" role=\"description\">red</Item>\
                    <Item name=\"DESCRIPTION\" sample=\"9\" role=\"description\">far</Item><Item sample=\"0\"";
        assert_eq!(names(text, 2), ["", "red"]);
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        let text = xml(["ä".repeat(200).as_str()].into_iter()).unwrap();
        assert_eq!(names(&text, 1), ["ä".repeat(127)]);
    }
}
