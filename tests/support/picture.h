/* SPDX-License-Identifier: GPL-3.0-or-later */
/* picture: checks that an SVG file is valid, by a strict XML parser and librsvg.
 * Uses python3 and rsvg-convert, where they are installed. */
#ifndef SPECLAB_TESTS_PICTURE_H
#define SPECLAB_TESTS_PICTURE_H

/* Fails the test unless the file is a complete SVG that shows something; a missing reader is
 * reported once. */
void spec_picture_check(const char *path);

/* Fails the test and names `what` if two texts of an SVG by gnuplot overlap. Widths and heights of
 * texts are lower bounds from the letters and the font size. */
void spec_picture_texts_apart(const char *path, const char *what);

/* Fails the test and names `what` if an axis of numbers has a single label. An axis of counts below
 * a panel must not have fractions. */
void spec_picture_axes_labelled(const char *path, const char *what);

#endif
