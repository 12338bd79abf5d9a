//! Reading and writing the head of a file (SPEC sections 3 to 7).

use super::bytes::Reader;
use super::header::{
    BackItem, BackKind, FIXED_BYTES, Header, LevelEntry, MAGIC, MAX_FRACTION_BITS, VERSION, levels_for,
};
use super::params::LevelParams;
use crate::colour::ColourTransform;
use crate::error::{Error, Limits, Result};
use crate::geom::{Rect, Size};
use crate::image::{Cicp, PlaneInfo, PlaneKind};

const TAG_CICP: u8 = 1;
const TAG_PIXEL_SIZE: u8 = 2;

impl Header {
    /// The fixed header's head length, after checking magic and version; `bytes` are the first of the file.
    pub fn head_length(bytes: &[u8]) -> Result<u32> {
        let mut r = Reader::new(bytes, 0, "3");
        check_magic(bytes)?;
        r.take(MAGIC.len())?;
        let version = r.u16()?;
        if version != VERSION {
            return Err(Error::Unsupported(format!(
                "format version {version} (this program reads {VERSION})"
            )));
        }
        let flags = r.u16()?;
        if flags != 0 {
            return Err(Error::Unsupported(format!("header flags {flags:#x}")));
        }
        let length = r.u32()?;
        if (length as usize) < FIXED_BYTES + 4 {
            return r.fail(format!("a head of {length} bytes"));
        }
        Ok(length)
    }

    /// Reads a head; `bytes` are exactly its bytes.
    pub fn read(bytes: &[u8], limits: &Limits) -> Result<Self> {
        let head_bytes = Self::head_length(bytes)?;
        let end = head_bytes as usize - 4;
        if bytes.len() != head_bytes as usize {
            return Err(Error::format(bytes.len() as u64, "3", "the head is cut off"));
        }
        let stored = u32::from_le_bytes([bytes[end], bytes[end + 1], bytes[end + 2], bytes[end + 3]]);
        if crc32fast::hash(&bytes[..end]) != stored {
            return Err(Error::format(end as u64, "3", "checksum of the head does not fit"));
        }
        let mut r = Reader::new(&bytes[16..end], 16, "3");
        let mut header = read_fixed(&mut r)?;
        header.head_bytes = head_bytes;
        let planes = r.u8()?;
        Limits::check("the number of planes", planes.into(), limits.planes.into())?;
        read_fixed_tail(&mut r, &mut header)?;
        r.section("4");
        read_planes(&mut r, planes.into(), &mut header)?;
        r.section("5");
        read_loq_table(&mut r, &mut header)?;
        r.section("6");
        read_metadata(&mut r, &mut header)?;
        r.section("7");
        header.params = vec![Vec::new(); header.levels.into()];
        for level in (0..usize::from(header.levels)).rev() {
            for plane in 0..header.planes.len() {
                let before = plane - header.groups[header.group_of(plane)].start;
                let params = LevelParams::read(&mut r, header.coded_bits(plane), before)?;
                header.params[level].push(params);
            }
        }
        if !r.is_empty() {
            return r.fail("bytes behind the last level's parameters");
        }
        header.check_layout()?;
        Ok(header)
    }
}

fn check_magic(bytes: &[u8]) -> Result<()> {
    if bytes.starts_with(&MAGIC) {
        return Ok(());
    }
    let damaged = bytes.len() >= 4 && (bytes[..4] == MAGIC[..4] || bytes[1..4] == MAGIC[1..4]);
    Err(Error::format(
        0,
        "3",
        match () {
            () if bytes.len() < MAGIC.len() => "too short for a Stepwell file",
            () if damaged => "the signature is damaged, as by a copy in text mode",
            () => "not a Stepwell file",
        },
    ))
}

fn read_fixed(r: &mut Reader) -> Result<Header> {
    let (file_length, content_id) = (r.u64()?, r.u64()?);
    // Sums of two lengths stay inside 64 bits.
    if file_length > 1 << 62 {
        return r.fail(format!("a file of {file_length} bytes"));
    }
    let canvas = Size::new(r.u32()?, r.u32()?);
    let window = Rect::new(r.u32()?, r.u32()?, r.u32()?, r.u32()?);
    if canvas.width == 0 || canvas.height == 0 {
        return r.fail(format!("a canvas of {} × {}", canvas.width, canvas.height));
    }
    if window.is_empty() || !window.fits(canvas) {
        return r.fail("the window does not lie in the canvas");
    }
    Ok(Header {
        version: VERSION,
        head_bytes: 0,
        file_length,
        content_id,
        canvas,
        window,
        levels: 0,
        tile_log2: [0; 2],
        colour: ColourTransform::None,
        colour_first: 0,
        fraction_bits: 0,
        front_levels: 0,
        orientation: 0,
        planes: Vec::new(),
        groups: Vec::new(),
        entries: Vec::new(),
        cicp: None,
        pixel_size: None,
        back: Vec::new(),
        params: Vec::new(),
    })
}

fn read_fixed_tail(r: &mut Reader, header: &mut Header) -> Result<()> {
    header.levels = r.u8()?;
    if header.levels != levels_for(header.canvas) {
        return r.fail(format!(
            "{} levels, where the canvas makes {}",
            header.levels,
            levels_for(header.canvas)
        ));
    }
    let tiles = u32::from(r.u8()?);
    header.tile_log2 = [tiles & 15, tiles >> 4];
    if let Some(log2) = header.tile_log2.iter().find(|log2| !(5..=6).contains(*log2)) {
        return r.fail(format!("tiles of 2^{log2} quads"));
    }
    header.colour = match r.u8()? {
        0 => ColourTransform::None,
        1 => ColourTransform::YCoCg,
        other => return Err(Error::Unsupported(format!("colour transform {other}"))),
    };
    header.colour_first = r.u8()?.into();
    header.fraction_bits = r.u8()?.into();
    if header.fraction_bits > MAX_FRACTION_BITS {
        return r.fail(format!("{} fraction bits", header.fraction_bits));
    }
    header.front_levels = r.u8()?;
    if header.front_levels > header.levels {
        return r.fail(format!("{} levels in front, of {}", header.front_levels, header.levels));
    }
    header.orientation = r.u8()?;
    if header.orientation > 8 {
        return r.fail(format!("orientation {}", header.orientation));
    }
    Ok(())
}

const PLANE_SIGNED: u8 = 1;
const PLANE_CONTINUES: u8 = 2;

const KINDS: [PlaneKind; 11] = [
    PlaneKind::Other,
    PlaneKind::Gray,
    PlaneKind::Red,
    PlaneKind::Green,
    PlaneKind::Blue,
    PlaneKind::Alpha,
    PlaneKind::Luma,
    PlaneKind::ChromaBlue,
    PlaneKind::ChromaRed,
    PlaneKind::Depth,
    PlaneKind::PremultipliedAlpha,
];

fn read_planes(r: &mut Reader, count: usize, header: &mut Header) -> Result<()> {
    if count == 0 {
        return r.fail("no planes");
    }
    for plane in 0..count {
        let (kind, depth, flags) = (r.u8()?, r.u8()?, r.u8()?);
        let subsampling = (r.u8()?, r.u8()?);
        let name_length = r.u8()?;
        let Ok(name) = std::str::from_utf8(r.take(name_length.into())?) else {
            return r.fail(format!("plane {plane}: a name that is not UTF-8"));
        };
        if !(1..=31).contains(&depth) || subsampling.0 == 0 || subsampling.1 == 0 || flags > 3 {
            return r
                .fail(format!("plane {plane}: {depth} bits, sub-sampling {subsampling:?}, flags {flags}"));
        }
        // Kinds only inform: one from the future is nothing worse than "other".
        let kind = KINDS.get(usize::from(kind)).copied().unwrap_or(PlaneKind::Other);
        let signed = flags & PLANE_SIGNED != 0;
        header.planes.push(PlaneInfo { kind, name: name.into(), depth, signed, subsampling });
        match header.groups.last_mut() {
            Some(group) if flags & PLANE_CONTINUES != 0 => {
                group.end += 1;
                if header.planes[group.start].subsampling != subsampling {
                    return r.fail(format!("plane {plane}: its sub-sampling is not its group's"));
                }
            }
            None if flags & PLANE_CONTINUES != 0 => return r.fail("plane 0 continues no group"),
            _ => header.groups.push(plane..plane + 1),
        }
        if u32::from(depth) + header.fraction_bits > 31 {
            return r.fail(format!("plane {plane}: {depth} bits and {} fraction bits", header.fraction_bits));
        }
    }
    let first = header.colour_first;
    let in_one_group = header.groups.iter().any(|g| g.start <= first && first + 3 <= g.end);
    if header.colour != ColourTransform::None && !in_one_group {
        return r.fail("the colour transform's planes are not three of one group");
    }
    Ok(())
}

fn read_loq_table(r: &mut Reader, header: &mut Header) -> Result<()> {
    header.entries = vec![LevelEntry::default(); usize::from(header.levels) + 1];
    for level in (0..=usize::from(header.levels)).rev() {
        let prefix = r.u64()?;
        let index_bytes = if level < header.levels.into() { r.u64()? } else { 0 };
        if prefix > header.file_length {
            return r.fail(format!("LoQ {level} ends behind the file"));
        }
        header.entries[level] = LevelEntry { prefix, index_bytes };
    }
    Ok(())
}

fn read_metadata(r: &mut Reader, header: &mut Header) -> Result<()> {
    for _ in 0..r.u8()? {
        let (tag, length) = (r.u8()?, r.u8()?);
        let at = r.offset();
        let mut item = Reader::new(r.take(length.into())?, at, "6");
        if header.cicp.is_some() && tag == TAG_CICP || header.pixel_size.is_some() && tag == TAG_PIXEL_SIZE {
            return r.fail(format!("two items of metadata with tag {tag}"));
        }
        match tag {
            TAG_CICP => {
                header.cicp = Some(Cicp {
                    primaries: item.u8()?,
                    transfer: item.u8()?,
                    matrix: item.u8()?,
                    full_range: item.u8()? != 0,
                });
            }
            TAG_PIXEL_SIZE => {
                let size = (item.f64()?, item.f64()?);
                if !(size.0.is_finite() && size.1.is_finite() && size.0 > 0.0 && size.1 > 0.0) {
                    return r.fail("a pixel size that is not a positive number");
                }
                header.pixel_size = Some(size);
            }
            // Whatever comes later: its length is known, so it can be passed over.
            _ => {}
        }
    }
    for _ in 0..r.u8()? {
        let (tag, length, crc) = (r.u8()?, r.u32()?, r.u32()?);
        let known = BackKind::KNOWN.into_iter().find(|kind| kind.tag() == tag);
        let kind = known.unwrap_or(BackKind::Other(tag));
        if header.back.iter().any(|item| item.kind == kind) {
            return r.fail(format!("two items of metadata with tag {tag}"));
        }
        header.back.push(BackItem { kind, length, crc });
    }
    Ok(())
}

/// Writes a head. `head_bytes` of `header` is ignored: the length that comes out is put in.
pub(super) fn write(header: &Header) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend(VERSION.to_le_bytes());
    out.extend([0; 2 + 4]);
    out.extend(header.file_length.to_le_bytes());
    out.extend(header.content_id.to_le_bytes());
    let Rect { x, y, width, height } = header.window;
    for v in [header.canvas.width, header.canvas.height, x, y, width, height] {
        out.extend(v.to_le_bytes());
    }
    let colour = match header.colour {
        ColourTransform::None => 0,
        ColourTransform::YCoCg => 1,
    };
    let tiles = header.tile_log2[0] | header.tile_log2[1] << 4;
    out.extend([header.planes.len() as u8, header.levels, tiles as u8, colour]);
    let (first, fraction) = (header.colour_first as u8, header.fraction_bits as u8);
    out.extend([first, fraction, header.front_levels, header.orientation]);
    for (i, plane) in header.planes.iter().enumerate() {
        let kind = KINDS.iter().position(|k| *k == plane.kind).unwrap_or(0) as u8;
        let continues = !header.groups.iter().any(|g| g.start == i);
        let flags = u8::from(plane.signed) * PLANE_SIGNED + u8::from(continues) * PLANE_CONTINUES;
        out.extend([
            kind,
            plane.depth,
            flags,
            plane.subsampling.0,
            plane.subsampling.1,
            plane.name.len() as u8,
        ]);
        out.extend(plane.name.as_bytes());
    }
    for (level, entry) in header.entries.iter().enumerate().rev() {
        out.extend(entry.prefix.to_le_bytes());
        if level < header.levels.into() {
            out.extend(entry.index_bytes.to_le_bytes());
        }
    }
    write_metadata(header, &mut out);
    header.params.iter().rev().flatten().for_each(|params| params.write(&mut out));
    let head_bytes = out.len() as u32 + 4;
    out[12..16].copy_from_slice(&head_bytes.to_le_bytes());
    let crc = crc32fast::hash(&out);
    out.extend(crc.to_le_bytes());
    out
}

fn write_metadata(header: &Header, out: &mut Vec<u8>) {
    out.push(u8::from(header.cicp.is_some()) + u8::from(header.pixel_size.is_some()));
    if let Some(cicp) = header.cicp {
        out.extend([TAG_CICP, 4, cicp.primaries, cicp.transfer, cicp.matrix, cicp.full_range.into()]);
    }
    if let Some((x, y)) = header.pixel_size {
        out.extend([TAG_PIXEL_SIZE, 16]);
        out.extend(x.to_le_bytes());
        out.extend(y.to_le_bytes());
    }
    out.push(header.back.len() as u8);
    for item in &header.back {
        out.push(item.kind.tag());
        out.extend(item.length.to_le_bytes());
        out.extend(item.crc.to_le_bytes());
    }
}
