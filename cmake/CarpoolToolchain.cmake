# Language level, warnings, sanitizers and ccache for every target of ours.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(CARPOOL_CCACHE ccache)
if(CARPOOL_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CARPOOL_CCACHE})
  if(CARPOOL_PRECOMPILE)
    # ccache keeps objects that were made with a precompiled header only when it may trust it.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
                                    CCACHE_SLOPPINESS=pch_defines,time_macros ${CARPOOL_CCACHE})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      add_compile_options(-fpch-preprocess)
    else()
      add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
    endif()
  endif()
endif()

if(CARPOOL_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC collects garbage from 128 MB on; a batch of sources needs several times that, and compiles
  # 15 % faster when it is left to grow to 1 GB first.
  add_compile_options(--param=ggc-min-expand=400 --param=ggc-min-heapsize=1000000)
endif()

# Warnings are those of the compiler of record; clang builds only the fuzz targets.
add_library(carpool_warnings INTERFACE)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(
    carpool_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor
                               -Wold-style-cast -Werror)
endif()

if(CARPOOL_SANITIZE)
  add_compile_options(-fsanitize=${CARPOOL_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${CARPOOL_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC takes the sanitizers' own checks for uses of what is not set, or not there.
    add_compile_options(-Wno-maybe-uninitialized -Wno-array-bounds -Wno-stringop-overflow)
  endif()
endif()

if(CARPOOL_FUZZ)
  # Everything counts coverage, by which libFuzzer is led; precompiled headers need the same flags, too.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
