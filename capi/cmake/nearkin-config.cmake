# find_package(nearkin) gives the targets nearkin::nearkin (shared) and nearkin::static.
get_filename_component(_nearkin_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_package(Threads REQUIRED)

if(NOT TARGET nearkin::nearkin)
  add_library(nearkin::nearkin SHARED IMPORTED)
  if(APPLE)
    set(_nearkin_shared "${_nearkin_prefix}/lib/libnearkin.0.dylib")
  else()
    set(_nearkin_shared "${_nearkin_prefix}/lib/libnearkin.so.0")
    set_target_properties(nearkin::nearkin PROPERTIES IMPORTED_SONAME libnearkin.so.0)
  endif()
  set_target_properties(nearkin::nearkin PROPERTIES
    IMPORTED_LOCATION "${_nearkin_shared}"
    INTERFACE_INCLUDE_DIRECTORIES "${_nearkin_prefix}/include")

  add_library(nearkin::static STATIC IMPORTED)
  set_target_properties(nearkin::static PROPERTIES
    IMPORTED_LOCATION "${_nearkin_prefix}/lib/libnearkin.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_nearkin_prefix}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m")
endif()
