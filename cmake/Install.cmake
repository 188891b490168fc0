# cmake --install: the public headers, one static library per layer, and the
# package for find_package(capstan). capstan::capstan is all layers together but
# capstan::torch, which is the component `torch`: only programs that compute with
# libtorch pay for it.
include(CMakePackageConfigHelpers)

get_property(layers GLOBAL PROPERTY CAPSTAN_LAYERS)
list(REMOVE_ITEM layers capstan_testing capstan_torch)
add_library(capstan_all INTERFACE)
add_library(capstan::capstan ALIAS capstan_all)
set_target_properties(capstan_all PROPERTIES EXPORT_NAME capstan)
target_link_libraries(capstan_all INTERFACE ${layers})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/capstan)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/capstan
        TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
install(TARGETS ${layers} capstan_all capstan_asio EXPORT capstanTargets)
# The program.
install(TARGETS capstan)
install(EXPORT capstanTargets NAMESPACE capstan:: DESTINATION ${package_dir})
if(CAPSTAN_WITH_TORCH)
  install(TARGETS capstan_torch capstan_libtorch EXPORT capstanTorchTargets)
  install(EXPORT capstanTorchTargets NAMESPACE capstan::
          DESTINATION ${package_dir})
endif()

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/capstanConfig.cmake.in
  ${PROJECT_BINARY_DIR}/capstanConfig.cmake
  INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may break what the one before it promised.
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/capstanConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/capstanConfig.cmake
              ${PROJECT_BINARY_DIR}/capstanConfigVersion.cmake
        DESTINATION ${package_dir})
