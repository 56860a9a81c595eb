# The headers that nearly every source reads anyway, for modules and for tests. It saves a third of a
# build from nothing. Only where it is asked for (the preset ci): clang-tidy and the other builds show
# whether every source includes what it uses. Modules are compiled in batches then, too (CarpoolModule.cmake).
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
  target_precompile_headers(carpool_precompiled_test PRIVATE ${headers} <gtest/gtest.h>)
endif()
