// Where samples go that later levels or the colour stage need: to `samples`, a word each. Part of upsample.wgsl.

fn put(block: Block, at: u32, x: u32, y: u32, value: i32) {
    let wanted = x >= (block.clip_x & 0xffffu) && x < (block.clip_x >> 16u)
        && y >= (block.clip_y & 0xffffu) && y < (block.clip_y >> 16u);
    if wanted {
        samples[at + y * block.out_stride + x] = value;
    }
}

fn emit(block: Block, plane: u32, i: u32, quad: vec4<i32>, x: u32, y: u32, has_right: bool, has_lower: bool) {
    let at = block.out + plane * block.out_plane;
    put(block, at, 2u * x, 2u * y, quad.x);
    if has_right {
        put(block, at, 2u * x + 1u, 2u * y, quad.y);
    }
    if has_lower {
        put(block, at, 2u * x, 2u * y + 1u, quad.z);
    }
    if has_right && has_lower {
        put(block, at, 2u * x + 1u, 2u * y + 1u, quad.w);
    }
}

fn finish(block: Block, x: u32, first: u32, end: u32, h_columns: u32, v_rows: u32) {}
