# cmake --install BUILD --prefix P: everything that belongs to Carpool, below P. The program finds its
# parts relative to its own file, so P may be moved; only the units name P.

install(TARGETS carpool RUNTIME DESTINATION bin)

# A folder of their own: ldconfig would make the library in front of the driver the machine's libcuda.so.1.
install(TARGETS carpool_profile_library carpool_cuda LIBRARY DESTINATION lib/carpool)
install(DIRECTORY ${CMAKE_BINARY_DIR}/lib/carpool/cuda DESTINATION lib/carpool)

# What commands open by name (bundled_folder() in src/app/inputs/sources.cpp).
foreach(dataset carma-traces kace-v100 memory-collected memory-estimator memory-h200 traces)
  install(DIRECTORY data/${dataset} DESTINATION share/carpool/data PATTERN "*.py" EXCLUDE
          PATTERN expected EXCLUDE)
endforeach()

# Debian's place for modules; below another prefix it goes into PYTHONPATH.
install(DIRECTORY python/carpool DESTINATION lib/python3/dist-packages
        FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)

install(DIRECTORY ${CMAKE_BINARY_DIR}/share/man ${CMAKE_BINARY_DIR}/share/bash-completion
                  ${CMAKE_BINARY_DIR}/share/zsh ${CMAKE_BINARY_DIR}/share/fish DESTINATION share)
install(FILES LICENSE README.md DESTINATION share/doc/carpool)

# Prometheus and Grafana read these where they are, or from a copy (docs/metrics.md).
install(FILES packaging/monitoring/prometheus-alerts.yml packaging/monitoring/grafana-dashboard.json
        DESTINATION share/carpool/monitoring)

install(FILES packaging/carpool.sysusers DESTINATION lib/sysusers.d RENAME carpool.conf)
install(FILES packaging/carpool.tmpfiles DESTINATION lib/tmpfiles.d RENAME carpool.conf)

# The prefix is known when it is installed.
install(CODE "set(source \"${CMAKE_CURRENT_SOURCE_DIR}/packaging\")
set(made \"${CMAKE_BINARY_DIR}/packaging\")")
install(
  CODE
    [[
foreach(kind system user)
  file(READ "${source}/carpool-${kind}.service" unit)
  string(REPLACE "/usr/bin/" "${CMAKE_INSTALL_PREFIX}/bin/" unit "${unit}")
  file(WRITE "${made}/${kind}/carpool.service" "${unit}")
  file(INSTALL "${made}/${kind}/carpool.service" DESTINATION "${CMAKE_INSTALL_PREFIX}/lib/systemd/${kind}")
endforeach()
]])
