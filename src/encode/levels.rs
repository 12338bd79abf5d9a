//! All levels of a picture at given quantiser steps: the closed loop from the root up to full size.

use super::choose::{self, Level as Original};
use super::options::EncodeOptions;
use super::pyramid::Pyramid;
use super::tiles::encode_level;
use crate::container::write::{GroupChunks, Parts};
use crate::container::{Header, LevelParams};
use crate::control::Control;
use crate::entropy::{BANDS, TileModel};
use crate::error::Result;
use crate::geom::{Level, Size};
use crate::grid::Grid;
use crate::image::{Image, PlaneKind};
use crate::residual::{CrossPlane, MAX_STEP, Quantiser, UNIT_STEP};
use crate::upsample::cpu::Parameters;
use crate::upsample::encode::{Analysed, Bands, analyse, targets};
use crate::upsample::{Predictor, Scale};

/// Steps of Co and Cg relative to Y, from the norms of the inverse transform's columns.
const CHROMA_STEPS: [f64; 3] = [1.0, 2.5, 2.05];
/// Steps of the bands relative to V's: H0 and H1 each touch half as many samples.
const BAND_STEPS: [f64; BANDS] = [1.0, std::f64::consts::SQRT_2, std::f64::consts::SQRT_2];

/// Encodes all levels. `step` is V's at full resolution in grey levels of 8 bits; `None` for lossless.
pub fn encode_levels(
    image: &Image,
    pyramid: &Pyramid,
    options: &EncodeOptions,
    step: Option<f64>,
    control: &Control,
) -> Result<Parts> {
    let levels = usize::from(pyramid.levels);
    let mut header = header_for(image, pyramid, options);
    let mut chunks: Vec<Vec<GroupChunks>> = vec![Vec::new(); levels];
    header.params = vec![Vec::new(); levels];
    let coder = Coder { image, pyramid, options, step };
    let mut lower: Vec<Grid<i32>> = pyramid.planes.iter().map(|p| p[levels].clone()).collect();
    let root = lower.clone();
    for level in (0..levels).rev() {
        // Three quarters of all samples are in level 0, and so on down.
        control.step(0.25f32.powi(level as i32 + 1))?;
        for group in &pyramid.structure.groups {
            let mut planes: Vec<(LevelParams, Vec<bytes::Bytes>, Bands)> = Vec::new();
            for plane in group.clone() {
                let place = pyramid.colour_place(plane).unwrap_or(0);
                let before: Vec<&Bands> = planes[planes.len() - place..].iter().rev().map(|p| &p.2).collect();
                let (params, chunks, analysed) = coder.level(level as Level, plane, &lower[plane], &before);
                lower[plane] = analysed.samples;
                planes.push((params, chunks, analysed.residuals));
            }
            let tiles = planes[0].1.len();
            let by_tile = (0..tiles).flat_map(|t| planes.iter().map(move |p| p.1[t].clone())).collect();
            chunks[level].push(by_tile);
            header.params[level].extend(planes.into_iter().map(|p| p.0));
        }
    }
    control.step(1.0)?;
    Ok(Parts { header, root, chunks, metadata: image.metadata.clone() })
}

struct Coder<'a> {
    image: &'a Image,
    pyramid: &'a Pyramid,
    options: &'a EncodeOptions,
    step: Option<f64>,
}

impl Coder<'_> {
    fn level(
        &self,
        level: Level,
        plane: usize,
        lower: &Grid<i32>,
        before: &[&Bands],
    ) -> (LevelParams, Vec<bytes::Bytes>, Analysed) {
        let samples = &self.pyramid.planes[plane][usize::from(level)];
        let size = Size::new(samples.width() as u32, samples.height() as u32);
        let targets = targets(samples);
        let info = &self.image.planes[plane].info;
        let chroma = self.pyramid.colour_place(plane).unwrap_or(0) > 0
            || matches!(info.kind, PlaneKind::ChromaBlue | PlaneKind::ChromaRed);
        let bits = u32::from(info.depth) + self.pyramid.fraction_bits;
        let mut parameters = Parameters {
            predictor: Predictor::None,
            set: usize::from(chroma) * 2 + usize::from(level > 0),
            scale: Scale::for_bits(bits),
            quantiser: self.quantiser(level, plane),
            cross: CrossPlane::default(),
        };
        let original = Original { samples, targets: &targets, lower };
        let (predictor, sampled) =
            choose::predictor(&original, self.options.profile.predictors(level), &parameters);
        parameters.predictor = predictor;
        if !before.is_empty() {
            parameters.cross = sampled.cross_factors(before, &parameters.quantiser);
        }
        let before = &before[..parameters.cross.count];
        let analysed = analyse(&targets, size, lower, before, &parameters);
        let skewed = self.step.is_none() && predictor != Predictor::None;
        let coder = (usize::from(chroma), bits > 16, skewed);
        let (model, chunks) = encode_level(&analysed.symbols, size, self.options.tile_log2, coder);
        (level_params(&parameters, model), chunks, analysed)
    }

    fn quantiser(&self, level: Level, plane: usize) -> Quantiser {
        let Some(step) = self.step else { return Quantiser::LOSSLESS };
        let place = self.pyramid.colour_place(plane).unwrap_or(0);
        let depth = i32::from(self.image.planes[plane].info.depth) + self.pyramid.fraction_bits as i32;
        let scale = f64::from(UNIT_STEP) * f64::from(depth - 8).exp2();
        let step = step * scale * CHROMA_STEPS[place] * self.options.level_ratio.powi(level.into());
        let limit = |step: f64| (step.round() as u32).clamp(UNIT_STEP, MAX_STEP);
        Quantiser { steps: BAND_STEPS.map(|factor| limit(step * factor)) }
    }
}

fn level_params(parameters: &Parameters, model: TileModel) -> LevelParams {
    LevelParams {
        predictor: parameters.predictor,
        coefficient_set: parameters.set,
        quantiser: parameters.quantiser,
        cross: parameters.cross,
        model,
    }
}

fn header_for(image: &Image, pyramid: &Pyramid, options: &EncodeOptions) -> Header {
    Header {
        version: crate::container::header::VERSION,
        head_bytes: 0,
        file_length: 0,
        content_id: 0,
        canvas: image.size,
        window: image.size.rect(),
        levels: pyramid.levels,
        tile_log2: options.tile_log2,
        colour: pyramid.colour,
        colour_first: pyramid.structure.colours.unwrap_or(0),
        fraction_bits: pyramid.fraction_bits,
        front_levels: 0,
        orientation: image.metadata.orientation.min(8),
        planes: image.planes.iter().map(|p| p.info.clone()).collect(),
        groups: pyramid.structure.groups.clone(),
        entries: Vec::new(),
        cicp: image.metadata.cicp,
        pixel_size: image.metadata.pixel_size,
        back: Vec::new(),
        params: Vec::new(),
    }
}
