# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# `cmake --install build --prefix DIR` gives headers, libraries, tools and a CMake
# package. With `--component deploy` that is what programs need that load or
# compile models, and no MLIR: tenon::runtime, tenon::runtime_static,
# tenon::compiler, their C headers, and the same for pkg-config. The rest is the package's component `mlir`: the
# libraries of tenon_add_library, which install themselves where they are added.

include(CMakePackageConfigHelpers)
set(_package ${CMAKE_INSTALL_LIBDIR}/cmake/Tenon)

#=== deploy ===================================================================

target_link_libraries(tenon_compiler INTERFACE tenon_runtime) # which has its errors' texts
foreach(_name runtime runtime_static compiler)
  set_target_properties(tenon_${_name} PROPERTIES EXPORT_NAME ${_name})
  target_include_directories(tenon_${_name} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  install(TARGETS tenon_${_name} EXPORT TenonTargets COMPONENT deploy
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()
foreach(_name runtime compiler)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/tenon-${_name}.pc.in
    ${PROJECT_BINARY_DIR}/tenon-${_name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/tenon-${_name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT deploy)
endforeach()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tenon-c DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT deploy)
find_file(TENON_DLPACK_HEADER dlpack/dlpack.h REQUIRED)
file(REAL_PATH ${TENON_DLPACK_HEADER} _dlpack)
install(FILES ${_dlpack} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dlpack COMPONENT deploy)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tenon
  COMPONENT deploy)

install(EXPORT TenonTargets DESTINATION ${_package} NAMESPACE tenon:: COMPONENT deploy)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/TenonConfig.cmake.in
  ${PROJECT_BINARY_DIR}/TenonConfig.cmake INSTALL_DESTINATION ${_package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TenonConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TenonConfig.cmake ${PROJECT_BINARY_DIR}/TenonConfigVersion.cmake
  DESTINATION ${_package} COMPONENT deploy)

#=== mlir =====================================================================

foreach(_root ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  install(DIRECTORY ${_root}/include/tenon DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT mlir
    FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.inc" PATTERN "*.def"
    PATTERN CMakeFiles EXCLUDE)
endforeach()
install(EXPORT TenonMLIRTargets DESTINATION ${_package} NAMESPACE tenon:: COMPONENT mlir)
