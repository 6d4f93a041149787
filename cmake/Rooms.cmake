# SPDX-License-Identifier: Apache-2.0
# One static library and one test program a room, linked by the table in tools/doors.txt.
# A room's sources are every .cc below src/<room>; a new file needs no edit here.

add_library(sky_flags INTERFACE)
target_include_directories(sky_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(sky_flags INTERFACE SKY_VERSION="${PROJECT_VERSION}")
target_compile_options(sky_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
                       -Woverloaded-virtual -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 warns falsely inside its own library headers at -O2 (GCC bugs 105562, 107852).
  target_compile_options(sky_flags INTERFACE -Wno-error=maybe-uninitialized -Wno-error=restrict
                         -Wno-error=array-bounds -Wno-error=stringop-overflow -Wno-error=stringop-overread
                         -Wno-error=dangling-pointer -Wno-error=free-nonheap-object)
endif()
target_link_options(sky_flags INTERFACE -fuse-ld=mold)
target_link_libraries(sky_flags INTERFACE Threads::Threads Boost::headers)
if(SKY_SANITIZE)
  target_compile_options(sky_flags INTERFACE -fsanitize=${SKY_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(sky_flags INTERFACE -fsanitize=${SKY_SANITIZE})
  if(SKY_SANITIZE MATCHES "thread")
    # TSan knows no fences; asio's hand-overs are ordered by its mutexes as well.
    target_compile_definitions(sky_flags INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/doors.txt)
file(STRINGS ${PROJECT_SOURCE_DIR}/tools/doors.txt sky_door_lines REGEX "^[a-z]+:")
set(SKY_ROOMS "")
foreach(line IN LISTS sky_door_lines)
  string(REGEX MATCH "^([a-z]+):(.*)$" _ "${line}")
  set(room ${CMAKE_MATCH_1})
  string(STRIP "${CMAKE_MATCH_2}" doors)
  string(REPLACE " " ";" doors "${doors}")
  list(APPEND SKY_ROOMS ${room})
  set(SKY_DOORS_${room} "${doors}")
endforeach()

# An include through a wall stops the build, before anything is compiled.
add_custom_target(doors COMMAND ${PROJECT_SOURCE_DIR}/tools/tidy --only doors
                  COMMENT "Checking the doors between rooms")

# The rooms whose tests say their clusters in the words of testing/.
set(SKY_TESTED_WITH_WORDS model cache framework plugins actions diagnose scheduler testing lab cli)
# In how many parts a room's tests run, so that two cores have work to the end: one, unless it is said here.
set(SKY_TEST_PARTS_framework 2)
set(SKY_TEST_PARTS_cache 2)
set(SKY_TEST_PARTS_lab 4)

function(sky_library room)
  file(GLOB_RECURSE all CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${room}/*.cc)
  set(tests ${all})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  set(sources ${all})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  set(links sky_flags ${ARGN})
  foreach(door IN LISTS SKY_DOORS_${room})
    if(TARGET sky_${door})
      list(APPEND links sky_${door})
    endif()
  endforeach()
  if(sources)
    add_library(sky_${room} STATIC ${sources})
    target_link_libraries(sky_${room} PUBLIC ${links})
  else()
    add_library(sky_${room} INTERFACE)
    target_link_libraries(sky_${room} INTERFACE ${links})
  endif()
  add_dependencies(sky_${room} doors)
  if(tests)
    set(SKY_TESTS_${room} "${tests}" PARENT_SCOPE)
    cmake_language(EVAL CODE "cmake_language(DEFER CALL sky_room_test ${room})")
  endif()
endfunction()

function(sky_room_test room)
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${room}/*_test.cc)
  add_executable(${room}_test ${tests})
  target_link_libraries(${room}_test PRIVATE sky_${room} GTest::gtest GTest::gmock GTest::gtest_main rapidcheck)
  if(room IN_LIST SKY_TESTED_WITH_WORDS)
    target_link_libraries(${room}_test PRIVATE sky_testing)
  endif()
  target_compile_definitions(${room}_test PRIVATE SKY_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                             SKY_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  set(shards 1)
  if(SKY_TEST_PARTS_${room})
    set(shards ${SKY_TEST_PARTS_${room}})
  endif()
  # The large ones first, and before them what mostly waits for programs.
  set(cost ${shards})
  if(room STREQUAL "cli")
    set(cost 5)
  endif()
  foreach(shard RANGE 1 ${shards})
    set(name ${room})
    if(shards GREATER 1)
      set(name ${room}_${shard})
    endif()
    math(EXPR index "${shard} - 1")
    add_test(NAME ${name} COMMAND ${room}_test --gtest_brief=1)
    # Laws try 20 cases each here, and a hundred in the optimised build of ./run laws.
    set_tests_properties(${name} PROPERTIES TIMEOUT 1800 COST ${cost} ENVIRONMENT
      "RC_PARAMS=seed=20261129 max_success=20;ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:malloc_context_size=12;GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# Compiles the texts that match `pattern` into a room; `accessor`, declared in `header`, returns them.
function(sky_embed room header accessor pattern)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${pattern})
  string(REPLACE "::" "_" stem ${accessor})
  string(REGEX REPLACE "^src/" "" include ${header})
  set(output ${CMAKE_BINARY_DIR}/generated/${stem}.cc)
  list(JOIN files "|" joined)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-DOUTPUT=${output}" "-DFILES=${joined}" "-DFUNCTION=${accessor}"
            "-DHEADER=${include}" -P ${PROJECT_SOURCE_DIR}/cmake/EmbedTexts.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/EmbedTexts.cmake VERBATIM)
  target_sources(sky_${room} PRIVATE ${output})
endfunction()

function(sky_programs)
  add_custom_target(programs)
  file(GLOB mains CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmd/*.cc)
  foreach(main IN LISTS mains)
    get_filename_component(name ${main} NAME_WE)
    string(REPLACE "_" "-" program ${name})
    add_executable(${program} ${main})
    target_link_libraries(${program} PRIVATE sky_cli)
    # A fifth of a busy scheduler's time went into malloc. Sanitizers bring an allocator of their own.
    if(NOT SKY_SANITIZE)
      target_link_libraries(${program} PRIVATE -Wl,--push-state,--no-as-needed mimalloc -Wl,--pop-state)
    endif()
    add_dependencies(programs ${program})
  endforeach()
endfunction()

# Our filters and scores beside kube-scheduler's own; run by ./run oracle.
function(sky_oracle)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/oracle/*.cc)
  add_executable(oracle-compare EXCLUDE_FROM_ALL ${sources})
  target_include_directories(oracle-compare PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(oracle-compare PRIVATE sky_plugins nlohmann_json::nlohmann_json)
endfunction()

function(sky_benchmarks)
  if(NOT SKY_BENCH)
    return()
  endif()
  find_package(benchmark REQUIRED)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.cc)
  if(sources)
    add_executable(sky-bench ${sources})
    target_link_libraries(sky-bench PRIVATE sky_cli benchmark::benchmark)
  endif()
endfunction()

function(sky_fuzzers)
  if(NOT SKY_FUZZ)
    return()
  endif()
  add_custom_target(fuzzers)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/*_fuzz.cc)
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    # Only the rooms that it includes: the others needn't be built for fuzzing at all.
    file(STRINGS ${source} includes REGEX "^#include \"[a-z]+/")
    list(TRANSFORM includes REPLACE "^#include \"([a-z]+)/.*" "sky_\\1")
    list(REMOVE_DUPLICATES includes)
    target_link_libraries(${name} PRIVATE ${includes})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers ${name})
  endforeach()
endfunction()
