"""The fields of a passport: the seven submodels of the Battery Pass Data Model 1.2.0, and one of our own.

Names are the model's, its spelling mistakes included. A `?` marks what may be missing, `[]` a list.
After the type stands the unit of a number, or the form or the allowed values of a text.
"""

TABLE = """
GeneralProductInformation
  productIdentifier string
  batteryPassportIdentifier string identifier
  batteryCategory string one:lmt,ev,industrial,stationary
  manufacturerInformation object
    contactName string
    postalAddress object
      addressCountry string
      postalCode string
      streetAddress string
    identifier string
    emailAddress? string email
    webAddress? string uri
  manufacturingDate string date-time
  batteryStatus string one:Original,Repurposed,Reused,Remanufactured,Waste
  batteryMass number kg
  manufacturingPlace object
    addressCountry string
    postalCode string
    streetAddress string
  operatorInformation object
    contactName string
    postalAddress object
      addressCountry string
      postalCode string
      streetAddress string
    identifier string
    emailAddress? string email
    webAddress? string uri
  puttingIntoService string timestamp
  warrentyPeriod string duration
CarbonFootprintForBatteries
  batteryCarbonFootprint number kgCO2e_per_kWh
  carbonFootprintPerLifecycleStage[] object
    lifecycleStage string one:RawMaterialExtraction,MainProduction,Distribution,Recycling
    carbonFootprint number kgCO2e_per_kWh
  carbonFootprintPerformanceClass string
  carbonFootprintStudy string uri
  absoluteCarbonFootprint? number kgCO2e
Circularity
  dismantlingAndRemovalInformation[] object
    documentType string one:BillOfMaterial,Model3D,DismantlingManual,RemovalManual,OtherManual,Drawing
    mimeType string
    documentURL string uri
  sparePartSources[] object
    nameOfSupplier string
    addressOfSupplier object
      addressCountry string
      postalCode string
      streetAddress string
    emailAddressOfSupplier string email
    supplierWebAddress string uri
    components[] object
      partName string
      partNumber string
  recycledContent[] object
    preConsumerShare number pct
    recycledMaterial string one:Cobalt,Nickel,Lithium,Lead
    postConsumerShare number pct
  safetyMeasures object
    safetyInstructions string uri
    extinguishingAgent[] string
  endOfLifeInformation object
    wastePrevention string uri
    separateCollection string uri
    informationOnCollection string uri
  renewableContent number pct
MaterialComposition
  batteryChemistry object
    shortName string
    clearName string
  batteryMaterials[] object
    batteryMaterialLocation object
      componentName string
      componentId? string
    batteryMaterialIdentifier string cas
    batteryMaterialName string
    batteryMaterialMass number kg
    isCriticalRawMaterial boolean
  hazardousSubstances[] object
    hazardousSubstanceClass string one:AcuteToxicity,SkinCorrosionOrIrritation,EyeDamageOrIrritation
    hazardousSubstanceName string
    hazardousSubstanceConcentration number pct
    hazardousSubstanceImpact[] string
    hazardousSubstanceLocation object
      componentName string
      componentId? string
    hazardousSubstanceIdentifier string cas
PerformanceAndDurability
  batteryTechicalProperties object
    originalPowerCapability[] object
      atSoC number pct
      powerCapabilityAt number W
    ratedMaximumPower number W
    powerCapabilityRatio number each
    ratedEnergy number kWh
    expectedNumberOfCycles number each
    initialSelfDischarge number pct
    roundtripEfficiency number pct
    ratedCapacity number Ah
    initialInternalResistance[] object
      ohmicResistance number ohm
      batteryComponent string one:pack,module,cell
    expectedLifetime number year
    cRate? number each
    nominalVoltage number V
    minimumVoltage number V
    maximumVoltage number V
    capacityThresholdForExhaustion number pct
    lifetimeReferenceTest string uri
    cRateLifeCycleTest number each
    temperatureRangeIdleState number degC
  batteryCondition object
    energyThroughput number kWh
    capacityThroughput object
      capacityThroughputValue number Ah
      lastUpdate string timestamp
    numberOfFullCycles object
      numberOfFullCyclesValue number each
      lastUpdate string timestamp
    stateOfCertifiedEnergy object
      stateOfCertifiedEnergyValue number pct
      lastUpdate string timestamp
    capacityFade object
      capacityFadeValue number pct
      lastUpdate string timestamp
    remainingEnergy object
      remainingEnergyalue number kWh
      lastUpdate string timestamp
    remainingCapacity object
      remainingCapacityValue number Ah
      lastUpdate string timestamp
    negativeEvents[] object
      negativeEvent string
      lastUpdate string timestamp
    temperatureInformation object
      timeExtremeHighTemp number minute
      timeExtremeLowTemp number minute
      timeExtremeHighTempCharging number minute
      timeExtremeLowTempCharging number minute
      lastUpdate string timestamp
    remainingPowerCapability[] object
      remainingPowerCapabilityValue object
        rPCLastUpdated string timestamp
      lastUpdate string timestamp
    powerFade number pct
    roundTripEfficiencyFade number pct
    evolutionOfSelfDischarge object
      evolutionOfSelfDischargeEntityValue number pct
    currentSelfDischargingRate object
      currentSelfDischargingRateEntity number pct
      lastUpdate string timestamp
    internalResistanceIncrease[] object
      internalResistanceIncreaseValue number pct
      lastUpdate string timestamp
      batteryComponent string one:pack,module,cell
    roundTripEfficiencyat50PerCentCycleLife number pct
    remainingRoundTripEnergyEfficiency object
      remainingRoundTripEnergyEfficiencyValue number pct
      lastUpdate string timestamp
    stateOfCharge object
      stateOfChargeValue number pct
      lastUpdate string timestamp
Labeling
  declarationOfConformity string uri
  resultOfTestReport string uri
  labels[] object
    labelingSymbol string uri
    labelingMeaning object
    labelingSubject string one:SeparateCollection,HazardousMaterial,CarbonFootPrint,ExtinguishingAgent
SupplyChainDueDiligence
  supplyChainDueDiligenceReport string uri
  thirdPartyAussurances? string uri
  supplyChainIndicies? number each
Supplement
  criticalRawMaterials?[] string
  previousPassport? string identifier
"""
