/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The view of `nrtd show` as a picture.
 */
#include "agent/report/show_view.h"
#include "common/strbuf.h"

#define SHOW_SVG_MIN_WIDTH 480
#define SHOW_SVG_MAX_WIDTH 8000
#define SHOW_SVG_WIDTH     960

/*
 * One SVG document of `width` pixels (SHOW_SVG_MIN_WIDTH at least), complete in itself: no scripts, no fonts
 * or pictures from elsewhere. It brings its own background, light or dark as its reader prefers. Patterns and
 * letters show everything that colours show. 0 or -EFBIG when `out` is too small.
 */
int show_svg(const struct show_view *v, size_t width, struct strbuf *out);
