//! All levels of a picture at given quantiser steps: the closed loop from the root up to full size.

use std::ops::Range;

use super::choose::{self, Level as Original, Sampled};
use super::options::EncodeOptions;
use super::pyramid::Pyramid;
use super::tiles::{PlaneCoder, encode_level};
use crate::container::write::{GroupChunks, Parts};
use crate::container::{Header, LevelParams};
use crate::control::Control;
use crate::entropy::model::is_deep;
use crate::entropy::{BANDS, TileModel};
use crate::error::Result;
use crate::geom::Level;
use crate::grid::Grid;
use crate::image::{Image, PlaneKind};
use crate::residual::{CrossPlane, MAX_QUANTISED_BITS, MAX_STEP, Quantiser, UNIT_STEP};
use crate::upsample::cpu::Parameters;
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
            let coders = coder.plane_coders(level as Level, group.clone(), &lower);
            let original: Vec<&Grid<i32>> = group.clone().map(|p| &pyramid.planes[p][level]).collect();
            let above: Vec<&Grid<i32>> = lower[group.clone()].iter().collect();
            let coded = encode_level(&original, &above, &coders, header.tile_log2(level as Level));
            chunks[level].push(coded.chunks);
            let params = coders.iter().zip(coded.models).map(|(c, model)| level_params(&c.parameters, model));
            header.params[level].extend(params);
            lower.splice(group.clone(), coded.samples);
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
    /// How the planes of a group are coded in a level.
    fn plane_coders(&self, level: Level, group: Range<usize>, lower: &[Grid<i32>]) -> Vec<PlaneCoder> {
        let mut coders = Vec::new();
        let mut sampled: Vec<Sampled> = Vec::new();
        for plane in group {
            let info = &self.image.planes[plane].info;
            let place = self.pyramid.colour_place(plane).unwrap_or(0);
            let chroma = place > 0 || matches!(info.kind, PlaneKind::ChromaBlue | PlaneKind::ChromaRed);
            let bits = u32::from(info.depth) + self.pyramid.fraction_bits;
            let mut parameters = Parameters {
                predictor: Predictor::None,
                set: usize::from(chroma) * 2 + usize::from(level > 0),
                scale: Scale::for_bits(bits),
                quantiser: self.quantiser(level, plane),
                cross: CrossPlane::default(),
            };
            let samples = &self.pyramid.planes[plane][usize::from(level)];
            let original = Original { samples, lower: &lower[plane] };
            let candidates = self.options.profile.predictors(level, self.step.is_none());
            let (predictor, residuals) = choose::predictor(&original, candidates, &parameters);
            parameters.predictor = predictor;
            let before: Vec<&Sampled> = sampled[sampled.len() - place..].iter().rev().collect();
            if place > 0 && self.options.profile.crosses(self.step.is_none()) {
                parameters.cross = residuals.cross_factors(&before, &parameters.quantiser);
            }
            sampled.push(residuals.quantised(&parameters.quantiser));
            let exact = parameters.quantiser == Quantiser::LOSSLESS;
            let skewed = exact && predictor != Predictor::None;
            coders.push(PlaneCoder { parameters, set: usize::from(chroma), deep: is_deep(bits), skewed });
        }
        coders
    }

    fn quantiser(&self, level: Level, plane: usize) -> Quantiser {
        let info = &self.image.planes[plane].info;
        let bits = u32::from(info.depth) + self.pyramid.fraction_bits;
        let Some(step) = self.step.filter(|_| bits <= MAX_QUANTISED_BITS) else { return Quantiser::LOSSLESS };
        let place = self.pyramid.colour_place(plane).unwrap_or(0);
        let scale = f64::from(UNIT_STEP) * (f64::from(bits) - 8.0).exp2();
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
