# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Finds MLIR and defines how Tenon's folders build against it:
#
#   tenon_add_library(TenonTransforms Fuse.cpp Simplify.cpp LINK TenonDialect)
#   tenon_add_tool(tenon-opt tenon-opt.cpp LINK TenonTransforms)
#   tenon_add_unittest(TransformsTests PlanTest.cpp LINK TenonTransforms)
#   tenon_add_tablegen_target(TenonOpsIncGen)   # after mlir_tablegen(...)
#
# No caller names an MLIR or LLVM library: tenon::mlir is all of them, and the
# linker takes what is used.

find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
message(STATUS "MLIR ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}")
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# mlir_tablegen reads its include paths from the directory, not from a target.
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
# A header of another folder of lib is included by its path under lib.
include_directories(${PROJECT_SOURCE_DIR}/lib)

add_library(tenon_mlir INTERFACE)
add_library(tenon::mlir ALIAS tenon_mlir)
separate_arguments(_llvm_definitions NATIVE_COMMAND ${LLVM_DEFINITIONS})
target_compile_definitions(tenon_mlir INTERFACE ${_llvm_definitions})
target_compile_options(tenon_mlir INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<BOOL:${LLVM_ENABLE_RTTI}>>>:-fno-rtti>)
# Tools of this tree link libMLIR.so and libLLVM.so. A target with the property
# TENON_STATIC_LLVM is shipped, and takes what it needs out of the archives. They
# are given as files, since the imported targets would bring libLLVM.so along;
# lld takes archives in any order.
set(_archives)
foreach(_lib IN LISTS MLIR_EXPORTED_TARGETS LLVM_AVAILABLE_LIBS)
  if(TARGET ${_lib})
    get_target_property(_file ${_lib} LOCATION)
    if(_file MATCHES "\\.a$" AND EXISTS ${_file}) # Debian leaves some out
      list(APPEND _archives ${_file})
    endif()
  endif()
endforeach()
set(_static $<BOOL:$<TARGET_PROPERTY:TENON_STATIC_LLVM>>)
target_link_libraries(tenon_mlir INTERFACE
  "$<$<NOT:${_static}>:MLIR;LLVM>" "$<${_static}:${_archives}>")

install(TARGETS tenon_mlir EXPORT TenonMLIRTargets)

add_custom_target(tenon-headers)   # everything that tablegen writes; every library waits for it
add_custom_target(tenon-test-deps) # everything that tests run

function(tenon_add_tablegen_target name)
  add_public_tablegen_target(${name})
  add_dependencies(tenon-headers ${name})
endfunction()

# MLIR's headers take most of the compile time of a file, and those of the LLVM dialects
# nearly all of one that emits kernels: lib/Codegen/CUDA/Tiled/Wgmma/Producer.cpp takes 20 s of
# processor time without these in pch.h, and 1 s with them (clang 22, 2026-11-23).
if(TENON_ENABLE_PCH)
  # One header for libraries and tools: both must be compiled as -fPIC.
  set(CMAKE_CXX_COMPILE_OPTIONS_PIE -fPIC)
  add_library(tenon_pch OBJECT ${PROJECT_SOURCE_DIR}/cmake/pch.cpp)
  target_link_libraries(tenon_pch PUBLIC tenon_mlir)
  target_compile_options(tenon_pch PUBLIC -Xclang -fno-pch-timestamp)
  target_precompile_headers(tenon_pch PUBLIC ${PROJECT_SOURCE_DIR}/cmake/pch.h)
endif()

function(tenon_configure target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "LINK")
  target_sources(${target} PRIVATE ${ARG_UNPARSED_ARGUMENTS})
  get_target_property(_type ${target} TYPE)
  if(_type STREQUAL STATIC_LIBRARY) # whose users link what it needs
    target_link_libraries(${target} PUBLIC ${ARG_LINK} tenon_mlir)
  else()
    target_link_libraries(${target} PRIVATE ${ARG_LINK} tenon_mlir)
  endif()
  add_dependencies(${target} tenon-headers mlir-headers)
  if(TENON_ENABLE_PCH)
    target_compile_options(${target} PRIVATE -Xclang -fno-pch-timestamp)
    target_precompile_headers(${target} REUSE_FROM tenon_pch)
  endif()
endfunction()

function(tenon_add_library name)
  add_library(${name} STATIC)
  tenon_configure(${name} ${ARGN})
  install(TARGETS ${name} EXPORT TenonMLIRTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT mlir)
endfunction()

function(tenon_add_tool name)
  add_executable(${name})
  tenon_configure(${name} ${ARGN})
  add_dependencies(tenon-test-deps ${name})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT mlir)
endfunction()

# GoogleTest binaries; scripts/run_tests.py runs each file under build/unittests.
function(tenon_add_unittest name)
  find_package(GTest REQUIRED)
  add_executable(${name})
  tenon_configure(${name} ${ARGN})
  add_dependencies(tenon-test-deps ${name})
  target_link_libraries(${name} PRIVATE GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/unittests)
endfunction()
