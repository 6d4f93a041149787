# SPDX-License-Identifier: Apache-2.0
# The checks of the repository itself, run by ctest beside the rooms' tests. A tool that judges has a test
# that feeds it what it must refuse: a check that can't fail is none.

add_test(NAME tidy COMMAND ${PROJECT_SOURCE_DIR}/tools/tidy)
add_test(NAME conformance COMMAND ${PROJECT_SOURCE_DIR}/tools/conformance)
file(GLOB tool_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/*_test)
foreach(tool_test IN LISTS tool_tests)
  get_filename_component(name ${tool_test} NAME)
  add_test(NAME ${name} COMMAND ${tool_test})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "SKY_BIN_DIR=${CMAKE_BINARY_DIR}/bin")
endforeach()
