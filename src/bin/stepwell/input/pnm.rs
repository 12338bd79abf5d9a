//! Netpbm's formats P1 to P7: exact samples of 1 to 16 bits.

use stepwell::{Image, Limits, Metadata, PlaneKind, Size};

use super::{Fault, Notes, Planes};

/// What a header says.
struct Header {
    size: Size,
    planes: u32,
    maxval: u32,
    kinds: Option<&'static [PlaneKind]>,
    /// P1 to P3: samples written as numbers.
    text: bool,
    /// P1 and P4: one bit a sample, 1 is black.
    bitmap: bool,
}

const GRAY: &[PlaneKind] = &[PlaneKind::Gray];
const RGB: &[PlaneKind] = &[PlaneKind::Red, PlaneKind::Green, PlaneKind::Blue];
const GRAY_ALPHA: &[PlaneKind] = &[PlaneKind::Gray, PlaneKind::Alpha];
const RGB_ALPHA: &[PlaneKind] = &[PlaneKind::Red, PlaneKind::Green, PlaneKind::Blue, PlaneKind::Alpha];

/// Reads the first picture of a PNM or PAM file.
pub fn read(bytes: &[u8], limits: &Limits, notes: &mut Notes) -> Result<Image, Fault> {
    let mut cursor = Cursor { bytes, at: 2 };
    let header = match bytes[1] {
        b'7' => pam_header(&mut cursor)?,
        kind => pnm_header(&mut cursor, kind)?,
    };
    let others = vec![PlaneKind::Other; header.planes as usize];
    // The depth is what the largest value needs: 10 bits for a maxval of 1000.
    let depth = (32 - header.maxval.leading_zeros()) as u8;
    let mut planes = Planes::unsigned(header.size, header.kinds.unwrap_or(&others), depth, limits)?;
    if header.text {
        read_text(&mut cursor, &header, &mut planes)?;
    } else {
        read_binary(&mut cursor, &header, &mut planes)?;
        if matches!(bytes[cursor.at..], [b'P', b'1'..=b'7', ..]) {
            notes.push("only the first picture of the file is used".into());
        }
    }
    planes.finish(Metadata::default())
}

fn pnm_header(cursor: &mut Cursor, kind: u8) -> Result<Header, Fault> {
    let bitmap = matches!(kind, b'1' | b'4');
    let (width, height) = (cursor.number()?, cursor.number()?);
    let maxval = if bitmap { 1 } else { cursor.number()? };
    let kinds = if matches!(kind, b'3' | b'6') { RGB } else { GRAY };
    // One white space ends the header; what follows may be samples that look like one.
    cursor.at += 1;
    let header = Header {
        size: Size::new(width, height),
        planes: kinds.len() as u32,
        maxval,
        kinds: Some(kinds),
        text: kind <= b'3',
        bitmap,
    };
    header.check()
}

fn pam_header(cursor: &mut Cursor) -> Result<Header, Fault> {
    let (mut width, mut height, mut planes, mut maxval) = (None, None, None, None);
    let mut tuple = Vec::new();
    loop {
        let line = cursor.line()?;
        let (key, value) = line.split_once(char::is_whitespace).unwrap_or((&line, ""));
        let number =
            || value.trim().parse().map_err(|_| Fault::broken(format_args!("PAM header line {line:?}")));
        match key {
            "ENDHDR" => break,
            "WIDTH" => width = Some(number()?),
            "HEIGHT" => height = Some(number()?),
            "DEPTH" => planes = Some(number()?),
            "MAXVAL" => maxval = Some(number()?),
            "TUPLTYPE" => tuple.push(value.trim().to_owned()),
            _ if line.is_empty() || line.starts_with('#') => {}
            _ => return Err(Fault::broken(format_args!("PAM header line {line:?}"))),
        }
    }
    let missing = |name| move || Fault::broken(format_args!("the PAM header has no {name}"));
    let kinds = match tuple.join(" ").as_str() {
        "BLACKANDWHITE" | "GRAYSCALE" => Some(GRAY),
        "RGB" => Some(RGB),
        "BLACKANDWHITE_ALPHA" | "GRAYSCALE_ALPHA" => Some(GRAY_ALPHA),
        "RGB_ALPHA" => Some(RGB_ALPHA),
        _ => None,
    };
    let header = Header {
        size: Size::new(width.ok_or_else(missing("WIDTH"))?, height.ok_or_else(missing("HEIGHT"))?),
        planes: planes.ok_or_else(missing("DEPTH"))?,
        maxval: maxval.ok_or_else(missing("MAXVAL"))?,
        kinds,
        text: false,
        bitmap: false,
    };
    header.check()
}

impl Header {
    fn check(self) -> Result<Self, Fault> {
        if !(1..=65535).contains(&self.maxval) {
            return Err(Fault::broken(format_args!("maxval {} is not within 1 to 65535", self.maxval)));
        }
        if !(1..=255).contains(&self.planes) {
            return Err(Fault::broken(format_args!("{} planes, 1 to 255 are possible", self.planes)));
        }
        if self.kinds.is_some_and(|kinds| kinds.len() != self.planes as usize) {
            return Err(Fault::broken(format_args!("{} planes do not fit its tuple type", self.planes)));
        }
        Ok(self)
    }

    fn within(&self, value: u32) -> Result<i32, Fault> {
        if value > self.maxval {
            return Err(Fault::broken(format_args!("sample {value} exceeds the maxval {}", self.maxval)));
        }
        Ok(value as i32)
    }
}

fn read_text(cursor: &mut Cursor, header: &Header, planes: &mut Planes) -> Result<(), Fault> {
    let mut row = vec![0i32; header.size.width as usize * header.planes as usize];
    for y in 0..header.size.height as usize {
        for sample in &mut row {
            let value = if header.bitmap { 1 - cursor.digit()?.min(1) } else { cursor.number()? };
            *sample = header.within(value)?;
        }
        planes.put_row(0, y, &row);
    }
    Ok(())
}

fn read_binary(cursor: &mut Cursor, header: &Header, planes: &mut Planes) -> Result<(), Fault> {
    let count = header.size.width as usize * header.planes as usize;
    let row_bytes = match header.maxval {
        _ if header.bitmap => count.div_ceil(8),
        ..=255 => count,
        _ => count * 2,
    };
    let mut row = vec![0i32; count];
    for y in 0..header.size.height as usize {
        let bytes = cursor.take(row_bytes)?;
        for (i, sample) in row.iter_mut().enumerate() {
            *sample = match header.maxval {
                _ if header.bitmap => i32::from(!bytes[i / 8] >> (7 - i % 8) & 1),
                ..=255 => header.within(bytes[i].into())?,
                _ => header.within(u16::from_be_bytes([bytes[2 * i], bytes[2 * i + 1]]).into())?,
            };
        }
        planes.put_row(0, y, &row);
    }
    Ok(())
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let bytes = self.bytes.get(self.at..).and_then(|b| b.get(..count)).ok_or_else(ends_early)?;
        self.at += count;
        Ok(bytes)
    }

    /// Skips white space and comments, which run to the end of their line.
    fn skip_space(&mut self) -> Result<u8, Fault> {
        loop {
            match *self.bytes.get(self.at).ok_or_else(ends_early)? {
                b'#' => {
                    while self.bytes.get(self.at).is_some_and(|&c| c != b'\n') {
                        self.at += 1;
                    }
                }
                c if c.is_ascii_whitespace() => self.at += 1,
                c => return Ok(c),
            }
        }
    }

    fn digit(&mut self) -> Result<u32, Fault> {
        let c = self.skip_space()?;
        self.at += 1;
        char::from(c).to_digit(10).ok_or_else(|| not_a_number(c))
    }

    fn number(&mut self) -> Result<u32, Fault> {
        let mut value = self.digit()?;
        while let Some(digit) = self.bytes.get(self.at).and_then(|&c| char::from(c).to_digit(10)) {
            value = value.checked_mul(10).and_then(|v| v.checked_add(digit)).ok_or_else(too_large)?;
            self.at += 1;
        }
        match self.bytes.get(self.at) {
            Some(c) if !c.is_ascii_whitespace() && *c != b'#' => Err(not_a_number(*c)),
            _ => Ok(value),
        }
    }

    fn line(&mut self) -> Result<String, Fault> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let end = rest.iter().position(|&c| c == b'\n').ok_or_else(ends_early)?;
        self.at += end + 1;
        Ok(String::from_utf8_lossy(&rest[..end]).trim().to_owned())
    }
}

fn ends_early() -> Fault {
    Fault::broken("it ends before its last sample")
}

fn too_large() -> Fault {
    Fault::broken("a number in it is too large")
}

fn not_a_number(c: u8) -> Fault {
    Fault::broken(format_args!("{:?} stands where a number is expected", char::from(c)))
}
