# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Flags common to everything that Tenon compiles.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# Assertions stay on in every build type: Tenon's own work is small beside
# MLIR's, and a failed assertion beats a wrong kernel.
string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")
string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

find_program(TENON_CCACHE ccache)
if(TENON_CCACHE)
  # Without this sloppiness ccache never caches a file that uses a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${TENON_CCACHE})
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter -ffunction-sections -fdata-sections)
if(TENON_WERROR)
  add_compile_options(-Werror)
endif()
add_link_options(-Wl,--gc-sections)
