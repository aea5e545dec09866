/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/build_info.h"

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

#ifndef SPEC_GIT
#define SPEC_GIT SPEC_VERSION
#endif

const char spec_build_info_version[] = SPEC_VERSION " (" SPEC_GIT ")";
const char spec_build_info_compiler[] = COMPILER;
