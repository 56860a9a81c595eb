# Headers that nearly every source reads, compiled once for modules and once for tests. Together with
# batches (CarpoolModule.cmake) this halves the time of a build from nothing. The preset dev does without
# both, and clang-tidy reads every source alone: so it shows when a source does not include what it uses.
file(WRITE ${CMAKE_BINARY_DIR}/precompiled/main.cpp "int main() {}\n")
set(headers <algorithm> <chrono> <filesystem> <functional> <map> <optional> <ranges> <string> <vector>
            <nlohmann/json.hpp> <tl/expected.hpp>)

# An object of a library and one of a program are compiled differently, and so are their headers.
add_library(carpool_precompiled OBJECT ${CMAKE_BINARY_DIR}/precompiled/main.cpp)
target_link_libraries(carpool_precompiled PRIVATE carpool_warnings fmt::fmt nlohmann_json::nlohmann_json
                                                  tl::expected)
target_precompile_headers(carpool_precompiled PRIVATE ${headers} <fmt/format.h>)

if(CARPOOL_TESTS)
  add_executable(carpool_precompiled_test ${CMAKE_BINARY_DIR}/precompiled/main.cpp)
  target_link_libraries(carpool_precompiled_test PRIVATE carpool_warnings nlohmann_json::nlohmann_json
                                                         tl::expected GTest::gtest)
  target_compile_options(carpool_precompiled_test PRIVATE ${CARPOOL_TEST_FLAGS})
  target_precompile_headers(carpool_precompiled_test PRIVATE ${headers} <gtest/gtest.h>)
endif()
