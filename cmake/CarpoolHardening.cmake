# What makes an error in memory hard to use against a server that runs as root. For every program and
# library of ours; tests/checks/hardening.py looks for it in what is built.
#
# - library assertions: an index or iterator out of bounds ends the program
# - stack protector and stack clash protection: a smashed or overrun stack ends it
# - endbr64 where indirect jumps may arrive (processors with CET)
# - _FORTIFY_SOURCE: the C library checks the sizes of buffers; needs optimisation
# - PIE, full RELRO, no executable stack
#
# Sanitizers and fuzzers come with checks of their own, which some of these disturb.
if(CARPOOL_SANITIZE OR CARPOOL_FUZZ)
  return()
endif()

add_compile_definitions(_GLIBCXX_ASSERTIONS)
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX) # links with -pie what is compiled with -fPIE
add_compile_options(-fstack-protector-strong -fstack-clash-protection)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  add_compile_options(-fcf-protection)
endif()
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
if("${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}}" MATCHES "-O[1-3gs]")
  set(CARPOOL_HARDENED ON) # all of it; without optimisation all but this
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
  # Tests may be compiled without optimisation.
  if(CARPOOL_TEST_FLAGS MATCHES "-O0")
    list(APPEND CARPOOL_TEST_FLAGS -U_FORTIFY_SOURCE)
  endif()
endif()
add_link_options(-Wl,-z,relro,-z,now,-z,noexecstack)
