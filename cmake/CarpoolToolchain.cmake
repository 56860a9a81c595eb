# Language level, warnings, sanitizers and ccache for every target of ours.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(CARPOOL_CCACHE ccache)
if(CARPOOL_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CARPOOL_CCACHE})
endif()

add_library(carpool_warnings INTERFACE)
target_compile_options(
  carpool_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor
                             -Wold-style-cast -Werror)

if(CARPOOL_SANITIZE)
  add_compile_options(-fsanitize=${CARPOOL_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${CARPOOL_SANITIZE})
endif()
