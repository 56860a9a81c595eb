# Several sources at a time: templates that all of them use are instantiated once. Names that two
# sources of a module keep to themselves must differ then.
function(carpool_in_batches target)
  if(NOT CARPOOL_PRECOMPILE)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 32)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # A source that is included looks like a header, whose classes others might see.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# carpool_module(NAME name [USES modules…] [LIBRARIES public…] [PRIVATE_LIBRARIES …] [TEST_USES modules…]
#                [OTHER_TARGETS files…] [TOGETHER suites…] [COMPUTING])
#
# Makes the library carpool_<name> from every source of src/<name>/ and its subfolders and, when tests
# are built, the programs carpool_<name>_test from tests/*.cpp and carpool_<name>_property_test from
# tests/*_property_test.cpp. A new source needs no line here. OTHER_TARGETS names sources and
# tests that belong to a target of their own. USES names modules of ours: an arrow of ARCHITECTURE.md,
# which tests/checks/include_arrows.py compares with the #include lines; TEST_USES adds modules for the
# tests alone. COMPUTING is for a module whose tests take long with the usual flags: CARPOOL_COMPUTING_FLAGS.
function(carpool_module)
  cmake_parse_arguments(
    ARG "COMPUTING" "NAME" "USES;LIBRARIES;PRIVATE_LIBRARIES;TEST_USES;OTHER_TARGETS;TOGETHER" ${ARGN})
  set(target carpool_${ARG_NAME})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(^|/)tests/")
  list(FILTER tests INCLUDE REGEX "^tests/[^/]*$")
  if(ARG_OTHER_TARGETS)
    list(REMOVE_ITEM sources ${ARG_OTHER_TARGETS})
    list(REMOVE_ITEM tests ${ARG_OTHER_TARGETS})
  endif()
  add_library(${target} STATIC ${sources})
  target_link_libraries(${target} PRIVATE carpool_warnings ${ARG_PRIVATE_LIBRARIES})
  if(ARG_COMPUTING)
    target_compile_options(${target} PRIVATE ${CARPOOL_COMPUTING_FLAGS})
  endif()
  if(TARGET carpool_precompiled)
    target_link_libraries(${target} PRIVATE fmt::fmt) # whose macros the headers were read with
    target_precompile_headers(${target} REUSE_FROM carpool_precompiled)
  endif()
  carpool_in_batches(${target})
  list(TRANSFORM ARG_USES PREPEND carpool_ OUTPUT_VARIABLE uses)
  list(TRANSFORM ARG_TEST_USES PREPEND carpool_ OUTPUT_VARIABLE test_uses)
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PUBLIC ${uses} ${ARG_LIBRARIES})
  if(NOT CARPOOL_TESTS)
    return()
  endif()
  set(properties ${tests})
  list(FILTER properties INCLUDE REGEX "_property_test\\.cpp$")
  list(FILTER tests EXCLUDE REGEX "_property_test\\.cpp$")
  if(tests)
    carpool_test(NAME ${target}_test LABEL unit SOURCES ${tests} LIBRARIES ${target} ${test_uses}
                 TOGETHER ${ARG_TOGETHER})
  endif()
  if(properties)
    carpool_test(NAME ${target}_property_test LABEL property SOURCES ${properties}
                 LIBRARIES ${target} ${test_uses} rapidcheck)
  endif()
endfunction()

# carpool_test(NAME target LABEL label SOURCES … LIBRARIES … [ENVIRONMENT NAME=value] [TOGETHER suites…]):
# a GoogleTest program whose cases run under CTest with that label and environment, each in a process of its
# own. TOGETHER names suites whose cases share what takes long to prepare: each suite is one process and one
# test of CTest. Tests find the repository's data through CARPOOL_SOURCE_DIR.
function(carpool_test)
  cmake_parse_arguments(ARG "" "NAME;LABEL;ENVIRONMENT" "SOURCES;LIBRARIES;TOGETHER" ${ARGN})
  if(ARG_ENVIRONMENT)
    set(environment ENVIRONMENT ${ARG_ENVIRONMENT})
  endif()
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PRIVATE carpool_warnings ${ARG_LIBRARIES} GTest::gtest_main)
  target_compile_definitions(${ARG_NAME} PRIVATE CARPOOL_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_compile_options(${ARG_NAME} PRIVATE ${CARPOOL_TEST_FLAGS})
  if(TARGET carpool_precompiled_test)
    target_precompile_headers(${ARG_NAME} REUSE_FROM carpool_precompiled_test)
  endif()
  carpool_in_batches(${ARG_NAME})
  # Everything of one label can be built without the rest: tests_threads, tests_unit, …
  if(NOT TARGET tests_${ARG_LABEL})
    add_custom_target(tests_${ARG_LABEL})
  endif()
  add_dependencies(tests_${ARG_LABEL} ${ARG_NAME})
  set(properties LABELS ${ARG_LABEL} TIMEOUT 300 ${environment})
  foreach(suite IN LISTS ARG_TOGETHER)
    add_test(NAME ${suite} COMMAND ${ARG_NAME} --gtest_filter=${suite}.*)
    set_tests_properties(${suite} PROPERTIES ${properties} FAIL_REGULAR_EXPRESSION "Running 0 tests")
    string(APPEND together ":${suite}.*")
  endforeach()
  gtest_discover_tests(${ARG_NAME} TEST_FILTER "*-${together}" PROPERTIES ${properties}
                       DISCOVERY_TIMEOUT 120)
endfunction()
