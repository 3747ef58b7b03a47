# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Finds the CUDA 13 files that Tenon builds with. Only headers and ptxas are
# needed: libcuda and libcublasLt are opened at run time.
#
#   TENON_CUDA_TOOLKIT       folder with bin/ptxas, bin/fatbinary and nvvm/libdevice
#   TENON_CUDA_INCLUDE_DIRS  folders with cuda.h and cublasLt.h

set(_cuda_roots ${PROJECT_SOURCE_DIR}/.deps/cuda $ENV{CUDA_HOME} /usr/local/cuda)

if(NOT TENON_CUDA_TOOLKIT)
  find_path(_ptxas_dir ptxas PATHS ${_cuda_roots} PATH_SUFFIXES bin NO_DEFAULT_PATH NO_CACHE)
  if(NOT _ptxas_dir)
    message(FATAL_ERROR "ptxas not found; run 'make setup', or give -DTENON_CUDA_TOOLKIT=<folder of CUDA 13>")
  endif()
  get_filename_component(_toolkit ${_ptxas_dir} DIRECTORY)
  set(TENON_CUDA_TOOLKIT ${_toolkit} CACHE PATH "folder with bin/ptxas and nvvm/libdevice")
endif()

if(NOT TENON_CUDA_INCLUDE_DIRS)
  find_path(_cuda_h cuda.h PATHS ${TENON_CUDA_TOOLKIT} ${_cuda_roots} PATH_SUFFIXES include NO_DEFAULT_PATH NO_CACHE)
  find_path(_cublas_h cublasLt.h PATHS ${PROJECT_SOURCE_DIR}/.deps/cublas ${TENON_CUDA_TOOLKIT} ${_cuda_roots}
            PATH_SUFFIXES include NO_DEFAULT_PATH NO_CACHE)
  if(NOT _cuda_h OR NOT _cublas_h)
    message(FATAL_ERROR "cuda.h or cublasLt.h not found; run 'make setup', or give -DTENON_CUDA_INCLUDE_DIRS=<folders>")
  endif()
  set(_dirs ${_cuda_h} ${_cublas_h})
  list(REMOVE_DUPLICATES _dirs)
  set(TENON_CUDA_INCLUDE_DIRS ${_dirs} CACHE STRING "folders with cuda.h and cublasLt.h")
endif()
