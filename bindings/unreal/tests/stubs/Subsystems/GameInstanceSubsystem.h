#pragma once

class FSubsystemCollectionBase
{
};

class UGameInstanceSubsystem
{
public:
    using Super = UGameInstanceSubsystem;
    virtual ~UGameInstanceSubsystem() = default;
    virtual void Initialize(FSubsystemCollectionBase&) {}
    virtual void Deinitialize() {}
};
