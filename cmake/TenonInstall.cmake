# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# `cmake --install build` gives headers, libraries, tools and a CMake package:
# find_package(Tenon) brings MLIR and the targets of tenon_add_library. The
# libraries and tools install themselves where they are added.

include(CMakePackageConfigHelpers)
set(_package ${CMAKE_INSTALL_LIBDIR}/cmake/Tenon)

foreach(_root ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  install(DIRECTORY ${_root}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.inc" PATTERN CMakeFiles EXCLUDE)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tenon)

# What a compiled model links; not part of the package, which brings MLIR.
if(TARGET tenon_runtime)
  install(TARGETS tenon_runtime LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

install(EXPORT TenonTargets DESTINATION ${_package} NAMESPACE tenon::)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/TenonConfig.cmake.in
  ${PROJECT_BINARY_DIR}/TenonConfig.cmake INSTALL_DESTINATION ${_package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TenonConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TenonConfig.cmake ${PROJECT_BINARY_DIR}/TenonConfigVersion.cmake
  DESTINATION ${_package})
