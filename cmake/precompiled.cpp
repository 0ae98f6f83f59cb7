// cmake/precompiled.cpp: owns precompiled headers that several targets share.
