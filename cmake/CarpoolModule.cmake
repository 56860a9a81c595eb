# Several sources at a time: templates that all of them use are instantiated once. Names that two
# sources of a module keep to themselves must differ then.
function(carpool_in_batches target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 5)
  # A source that is included looks like a header, whose classes others might see.
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
endfunction()

# carpool_module(NAME name SOURCES … [USES modules…] [LIBRARIES public…] [PRIVATE_LIBRARIES …] [TESTS …])
#
# Makes the library carpool_<name> from src/<name>/ and, when tests are built, one executable
# carpool_<name>_test from its tests/ folder. USES names modules of ours: an arrow of
# ARCHITECTURE.md, which tests/checks/include_arrows.py holds against the #include lines.
function(carpool_module)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;USES;LIBRARIES;PRIVATE_LIBRARIES;TESTS" ${ARGN})
  set(target carpool_${ARG_NAME})
  if(ARG_SOURCES)
    add_library(${target} STATIC ${ARG_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(${target} PRIVATE carpool_warnings ${ARG_PRIVATE_LIBRARIES})
    if(TARGET carpool_precompiled)
      target_link_libraries(${target} PRIVATE fmt::fmt) # whose macros the headers were read with
      target_precompile_headers(${target} REUSE_FROM carpool_precompiled)
      carpool_in_batches(${target})
    endif()
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  list(TRANSFORM ARG_USES PREPEND carpool_ OUTPUT_VARIABLE uses)
  target_include_directories(${target} ${scope} ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} ${scope} ${uses} ${ARG_LIBRARIES})
  if(CARPOOL_TESTS AND ARG_TESTS)
    carpool_test(NAME ${target}_test LABEL unit SOURCES ${ARG_TESTS} LIBRARIES ${target})
  endif()
endfunction()

# carpool_test(NAME target LABEL label SOURCES … LIBRARIES … [ENVIRONMENT NAME=value]): a GoogleTest
# program whose cases run under CTest with that label and environment. Tests find the repository's
# data through CARPOOL_SOURCE_DIR.
function(carpool_test)
  cmake_parse_arguments(ARG "" "NAME;LABEL;ENVIRONMENT" "SOURCES;LIBRARIES" ${ARGN})
  if(ARG_ENVIRONMENT)
    set(environment ENVIRONMENT ${ARG_ENVIRONMENT})
  endif()
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PRIVATE carpool_warnings ${ARG_LIBRARIES} GTest::gtest_main)
  target_compile_definitions(${ARG_NAME} PRIVATE CARPOOL_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(TARGET carpool_precompiled_test)
    target_precompile_headers(${ARG_NAME} REUSE_FROM carpool_precompiled_test)
    carpool_in_batches(${ARG_NAME})
  endif()
  # Everything of one label can be built without the rest: tests_threads, tests_unit, …
  if(NOT TARGET tests_${ARG_LABEL})
    add_custom_target(tests_${ARG_LABEL})
  endif()
  add_dependencies(tests_${ARG_LABEL} ${ARG_NAME})
  gtest_discover_tests(${ARG_NAME} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 300 ${environment})
endfunction()
