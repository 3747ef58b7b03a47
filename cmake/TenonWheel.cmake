# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What the wheel holds beside the Python files: component `python` of the
# installation. It runs on any Linux with glibc 2.34 or later: libstdc++ is
# linked in, and libgcc_s is the system's, since Debian's archive of it wants
# 2.35. The same holds of the runtime that is deployed with models.

set(_shipped tenon_compiler tenon_runtime tenon-run)
foreach(_target IN LISTS _shipped ITEMS
    tenon-compile-package tenon-opt-package tenon_native_311 tenon_native_abi3)
  if(TARGET ${_target})
    target_sources(${_target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/arc4random.cpp)
    target_link_options(${_target} PRIVATE -static-libstdc++)
  endif()
endforeach()

install(TARGETS ${_shipped}
  LIBRARY DESTINATION tenon/lib COMPONENT python NAMELINK_SKIP
  RUNTIME DESTINATION tenon/bin COMPONENT python EXCLUDE_FROM_ALL)

install(FILES ${TENON_C_HEADERS} DESTINATION tenon/include/tenon-c COMPONENT python EXCLUDE_FROM_ALL)
install(FILES ${TENON_DLPACK_HEADER} ${TENON_DLPACK_NOTICE} DESTINATION tenon/include/dlpack COMPONENT python EXCLUDE_FROM_ALL)

# Licences of what is linked in.
file(GLOB _licences ${nanobind_dir}/../nanobind-*.dist-info/licenses/LICENSE)
install(FILES ${_licences} DESTINATION tenon/licenses RENAME nanobind.txt COMPONENT python EXCLUDE_FROM_ALL)
foreach(_package libmlir-22-dev libstdc++-12-dev libzstd-dev zlib1g-dev nlohmann-json3-dev libdlpack-dev)
  set(_text /usr/share/doc/${_package}/copyright)
  if(EXISTS ${_text})
    install(FILES ${_text} DESTINATION tenon/licenses RENAME ${_package}.txt COMPONENT python EXCLUDE_FROM_ALL)
  endif()
endforeach()
