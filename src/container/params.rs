//! Level parameters: what one level of one plane was coded with (SPEC section 7).

use super::bytes::{Reader, put_varint};
use crate::entropy::model::{SIGN_GROUPS, SignSkews, is_deep};
use crate::entropy::tables::DEFAULT_MAPS;
use crate::entropy::token::ROWS;
use crate::entropy::{BANDS, TileModel};
use crate::error::{Error, Result};
use crate::residual::{CrossPlane, MAX_CROSS, MAX_QUANTISED_BITS, MAX_STEP, Quantiser, UNIT_STEP};
use crate::upsample::{Predictor, SETS};

/// Two-step integer Haar, the only transform so far.
const TRANSFORM_TWO_STEP: u8 = 1;
/// Interleaved rANS tiles, the only coder so far.
const CODER_RANS_TILES: u8 = 1;

const FLAG_QUANTISED: u16 = 1;
const CROSS_SHIFT: u16 = 1;
const MAP_SHIFT: u16 = 3;
const SIGN_SHIFT: u16 = 6;
const FLAG_WIDE: u16 = 1 << 9;
const KNOWN_FLAGS: u16 = (1 << 10) - 1;

/// How one level of one plane is coded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelParams {
    /// The predictor.
    pub predictor: Predictor,
    /// Its coefficient set.
    pub coefficient_set: usize,
    /// Quantiser steps.
    pub quantiser: Quantiser,
    /// What residuals take from the planes before.
    pub cross: CrossPlane,
    /// Tile coder.
    pub model: TileModel,
}

impl LevelParams {
    /// Reads the record of a plane of so many coded bits, that has `before` planes of its group in front of it.
    pub(super) fn read(r: &mut Reader, bits: u32, before: usize) -> Result<Self> {
        let (transform, predictor, coder) = (r.u8()?, r.u8()?, r.u8()?);
        let at = r.offset();
        let unsupported = |what: &str, id: u8| Err(Error::Unsupported(format!("{what} {id} at byte {at}")));
        if transform != TRANSFORM_TWO_STEP {
            return unsupported("transform", transform);
        }
        if coder != CODER_RANS_TILES {
            return unsupported("tile coder", coder);
        }
        let predictor = match predictor {
            0 => Predictor::None,
            1 => Predictor::Linear,
            2 => Predictor::Classed,
            3 => Predictor::Compact,
            other => return unsupported("predictor", other),
        };
        let sets = r.u8()?;
        let (coefficient_set, context_set) = (usize::from(sets & 15), usize::from(sets >> 4));
        if coefficient_set >= SETS || context_set >= DEFAULT_MAPS.len() {
            return unsupported("coefficient and context sets", sets);
        }
        let flags = r.u16()?;
        if flags & !KNOWN_FLAGS != 0 {
            return Err(Error::Unsupported(format!("level flags {flags:#x} at byte {}", r.offset())));
        }
        let mut quantiser = Quantiser::LOSSLESS;
        if flags & FLAG_QUANTISED != 0 {
            if bits > MAX_QUANTISED_BITS {
                return r.fail(format!("quantised samples of {bits} bits"));
            }
            for step in &mut quantiser.steps {
                *step = r.varint()?;
                if !(UNIT_STEP..=MAX_STEP).contains(step) {
                    return r.fail(format!("quantiser step {step}"));
                }
            }
        }
        let cross = read_cross(r, usize::from(flags >> CROSS_SHIFT & 3), before)?;
        let mut model = TileModel::default_for(context_set, is_deep(bits));
        model.wide = flags & FLAG_WIDE != 0;
        for band in 0..BANDS {
            if flags >> (MAP_SHIFT + band as u16) & 1 != 0 {
                read_map(r, &mut model.maps[band])?;
            }
        }
        for band in 0..BANDS {
            if flags >> (SIGN_SHIFT + band as u16) & 1 != 0 {
                for group in &mut model.signs[band] {
                    let byte = r.u8()?;
                    *group = [byte & 15, byte >> 4];
                }
            }
        }
        if !model.is_valid() {
            return r.fail("a distribution that does not exist");
        }
        Ok(LevelParams { predictor, coefficient_set, quantiser, cross, model })
    }

    /// Writes the record.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let predictor = match self.predictor {
            Predictor::None => 0,
            Predictor::Linear => 1,
            Predictor::Classed => 2,
            Predictor::Compact => 3,
        };
        let sets = (self.coefficient_set | self.model.set << 4) as u8;
        out.extend([TRANSFORM_TWO_STEP, predictor, CODER_RANS_TILES, sets]);
        let default = &DEFAULT_MAPS[self.model.set];
        let quantised = self.quantiser != Quantiser::LOSSLESS;
        let mut flags = if quantised { FLAG_QUANTISED } else { 0 } | (self.cross.count as u16) << CROSS_SHIFT;
        for (band, (map, signs)) in self.model.maps.iter().zip(&self.model.signs).enumerate() {
            flags |= u16::from(*map != default[band]) << (MAP_SHIFT + band as u16);
            flags |= u16::from(*signs != SignSkews::default()) << (SIGN_SHIFT + band as u16);
        }
        if self.model.wide {
            flags |= FLAG_WIDE;
        }
        out.extend(flags.to_le_bytes());
        if quantised {
            self.quantiser.steps.iter().for_each(|&step| put_varint(out, step));
        }
        for factors in &self.cross.factors {
            out.extend(factors[..self.cross.count].iter().map(|&f| f as u8));
        }
        for (map, default) in self.model.maps.iter().zip(default) {
            write_map(out, map, default);
        }
        for signs in self.model.signs.iter().filter(|&s| *s != SignSkews::default()) {
            out.extend(signs.iter().map(|[one, two]| one | two << 4));
        }
    }
}

fn read_cross(r: &mut Reader, count: usize, before: usize) -> Result<CrossPlane> {
    if count > MAX_CROSS.min(before) {
        return r.fail(format!("prediction from {count} planes where {before} stand before"));
    }
    let mut cross = CrossPlane { count, ..CrossPlane::default() };
    for factors in &mut cross.factors {
        for factor in &mut factors[..count] {
            *factor = r.u8()? as i8;
        }
    }
    Ok(cross)
}

fn read_map(r: &mut Reader, map: &mut [u8; ROWS]) -> Result<()> {
    let (first, count) = (usize::from(r.u8()?), usize::from(r.u8()?));
    match map.get_mut(first..).and_then(|rest| rest.get_mut(..count)) {
        Some(rows) => rows.copy_from_slice(r.take(count)?),
        None => return r.fail(format!("a map of rows {first}..{}, of {ROWS}", first + count)),
    }
    Ok(())
}

fn write_map(out: &mut Vec<u8>, map: &[u8; ROWS], default: &[u8; ROWS]) {
    let differs = |&row: &usize| map[row] != default[row];
    if let (Some(first), Some(last)) = ((0..ROWS).find(differs), (0..ROWS).rfind(differs)) {
        out.extend([first as u8, (last - first + 1) as u8]);
        out.extend(&map[first..=last]);
    }
}

/// Bytes that a map costs in the file.
pub fn map_bytes(map: &[u8; ROWS], default: &[u8; ROWS]) -> usize {
    let mut out = Vec::new();
    write_map(&mut out, map, default);
    out.len()
}

const _: () = assert!(SIGN_GROUPS * 4 >= ROWS);

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> LevelParams {
        let mut model = TileModel::default_for(1, false);
        model.wide = true;
        model.maps[0][3] = 9;
        model.maps[0][7] = 11;
        model.maps[2] = [5; ROWS];
        model.signs[1] = [[1, 2], [3, 4], [15, 0], [0, 0], [0, 7], [8, 8]];
        let factors = [[1, -2], [-127, 3], [0, 90]];
        LevelParams {
            predictor: Predictor::Linear,
            coefficient_set: 3,
            quantiser: Quantiser { steps: [16, 300, 70_000] },
            cross: CrossPlane { count: 2, factors },
            model,
        }
    }

    #[test]
    fn written_records_read_back() {
        let mut bytes = Vec::new();
        example().write(&mut bytes);
        let mut r = Reader::new(&bytes, 0, "7");
        assert_eq!(LevelParams::read(&mut r, 8, 2).unwrap(), example());
        assert!(r.is_empty());
    }

    #[test]
    fn wrong_records_are_refused() {
        let mut good = Vec::new();
        example().write(&mut good);
        for (at, value, refused) in [
            (0, 2, "transform 2"),
            (1, 4, "predictor 4"),
            (2, 9, "tile coder 9"),
            (3, 0x04, "sets 4"),
            (3, 0x23, "sets 35"),
            (5, 0x80, "level flags"),
        ] {
            let mut bytes = good.clone();
            bytes[at] = value;
            let error = LevelParams::read(&mut Reader::new(&bytes, 0, "7"), 8, 2).unwrap_err();
            assert!(matches!(&error, Error::Unsupported(what) if what.contains(refused)), "{error}");
        }
        let error = LevelParams::read(&mut Reader::new(&good, 0, "7"), 8, 1).unwrap_err();
        assert!(error.to_string().contains("2 planes where 1"), "{error}");
        for end in 0..good.len() {
            assert!(LevelParams::read(&mut Reader::new(&good[..end], 0, "7"), 8, 2).is_err());
        }
    }
}
