//! A picture as the encoder works on it: coded planes and all levels above them.

use std::ops::Range;

use crate::colour::{ColourTransform, ycocg_from_rgb};
use crate::container::header::levels_for;
use crate::encode::choose::colour_transform_pays;
use crate::geom::Level;
use crate::grid::Grid;
use crate::image::{Image, PlaneInfo, PlaneKind};
use crate::residual::MAX_QUANTISED_BITS;
use crate::upsample::encode::lower_level;

/// Fraction bits of lossy files: without them, the roundings of the transform alone would cost 1.3 dB at 45 dB.
const LOSSY_FRACTION_BITS: u32 = 4;

/// Which planes belong together, and which three are three colours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Structure {
    /// Runs of planes that are coded next to each other.
    pub groups: Vec<Range<usize>>,
    /// The first of three colour planes, if there are such.
    pub colours: Option<usize>,
}

impl Structure {
    /// Red, green and blue of one format, with the alpha that follows, make a group; every other plane its own, so that
    /// it can be read alone.
    pub fn of(planes: &[PlaneInfo]) -> Self {
        let alike = |a: &PlaneInfo, b: &PlaneInfo| {
            (a.depth, a.signed, a.subsampling) == (b.depth, b.signed, b.subsampling)
        };
        let is_colour = |w: &[PlaneInfo]| {
            w[0].kind == PlaneKind::Red
                && w[1].kind == PlaneKind::Green
                && w[2].kind == PlaneKind::Blue
                && alike(&w[0], &w[1])
                && alike(&w[0], &w[2])
        };
        let colours = planes.windows(3).position(is_colour);
        let mut groups: Vec<Range<usize>> = Vec::new();
        for (i, plane) in planes.iter().enumerate() {
            let continues = colours.is_some_and(|first| {
                let alpha = matches!(plane.kind, PlaneKind::Alpha | PlaneKind::PremultipliedAlpha)
                    && plane.subsampling == planes[first].subsampling;
                (first + 1..first + 3).contains(&i) || (i == first + 3 && alpha)
            });
            match groups.last_mut() {
                Some(group) if continues => group.end = i + 1,
                _ => groups.push(i..i + 1),
            }
        }
        Structure { groups, colours }
    }
}

/// The planes as they are coded, with every level above them.
pub struct Pyramid {
    /// Which planes belong together.
    pub structure: Structure,
    /// The colour transform applied.
    pub colour: ColourTransform,
    /// Fraction bits of the samples.
    pub fraction_bits: u32,
    /// The root's level.
    pub levels: Level,
    /// `[plane][level]`, level 0 first.
    pub planes: Vec<Vec<Grid<i32>>>,
}

impl Pyramid {
    /// Transforms a picture, which must be valid.
    pub fn new(image: &Image, lossless: bool) -> Self {
        let infos: Vec<PlaneInfo> = image.planes.iter().map(|p| p.info.clone()).collect();
        let structure = Structure::of(&infos);
        let deepest = infos.iter().map(|i| u32::from(i.depth)).max().unwrap_or(1);
        let fraction_bits =
            if lossless { 0 } else { LOSSY_FRACTION_BITS.min(MAX_QUANTISED_BITS.saturating_sub(deepest)) };
        let shift = |plane: &Grid<i32>| {
            let data = plane.data().iter().map(|&v| v << fraction_bits).collect();
            Grid::from_vec(plane.width(), plane.height(), data)
        };
        let mut full: Vec<Grid<i32>> = image.planes.iter().map(|p| shift(&p.samples)).collect();
        let mut colour = ColourTransform::None;
        if let Some(first) = structure.colours
            && let [r, g, b] = &mut full[first..first + 3]
            && colour_transform_pays([r, g, b])
        {
            colour = ColourTransform::YCoCg;
            let pixels = r.data_mut().iter_mut().zip(g.data_mut()).zip(b.data_mut());
            pixels.for_each(|((r, g), b)| [*r, *g, *b] = ycocg_from_rgb([*r, *g, *b]));
        }
        let levels = levels_for(image.size);
        let planes = full.into_iter().map(|plane| all_levels(plane, levels)).collect();
        Pyramid { structure, colour, fraction_bits, levels, planes }
    }

    /// Place of a plane among the three of the colour transform.
    pub fn colour_place(&self, plane: usize) -> Option<usize> {
        let first = self.structure.colours.filter(|_| self.colour == ColourTransform::YCoCg)?;
        (first..first + 3).contains(&plane).then(|| plane - first)
    }
}

fn all_levels(plane: Grid<i32>, levels: Level) -> Vec<Grid<i32>> {
    let mut all = vec![plane];
    for level in 0..usize::from(levels) {
        let lower = lower_level(&all[level]);
        all.push(lower);
    }
    all
}
