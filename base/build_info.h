/* SPDX-License-Identifier: GPL-3.0-or-later */
/* build_info: says which version, commit and compiler made this build, for provenance lines.
 * The Makefile passes SPEC_VERSION and SPEC_GIT only to build_info.c, so that a new commit
 * recompiles just one file. */
#ifndef SPECLAB_BUILD_INFO_H
#define SPECLAB_BUILD_INFO_H

/* Such as "1.0.0 (8f78032)"; without git, "1.0.0 (1.0.0)". */
extern const char spec_build_info_version[];

/* "gcc 12.2.0". */
extern const char spec_build_info_compiler[];

#endif
