# find_package(nearkin) gives the targets nearkin::nearkin (shared) and nearkin::static.
get_filename_component(_nearkin_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_package(Threads REQUIRED)

if(NOT TARGET nearkin::nearkin)
  add_library(nearkin::nearkin SHARED IMPORTED)
  set(_nearkin_static "${_nearkin_prefix}/lib/libnearkin.a")
  set(_nearkin_needed "Threads::Threads;${CMAKE_DL_LIBS};m")
  if(WIN32)
    set(_nearkin_shared "${_nearkin_prefix}/bin/nearkin.dll")
    set(_nearkin_static "${_nearkin_prefix}/lib/nearkin_static.lib")
    set(_nearkin_needed "kernel32;ntdll;userenv;ws2_32;dbghelp;bcrypt;advapi32")
    set_target_properties(nearkin::nearkin PROPERTIES
      IMPORTED_IMPLIB "${_nearkin_prefix}/lib/nearkin.lib")
  elseif(APPLE)
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
    IMPORTED_LOCATION "${_nearkin_static}"
    INTERFACE_INCLUDE_DIRECTORIES "${_nearkin_prefix}/include"
    INTERFACE_LINK_LIBRARIES "${_nearkin_needed}")
endif()
