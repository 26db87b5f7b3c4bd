"""The names that the reader knows: medicines, conditions, substances, reactions."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MEDICINES = _words(
    """
    abacavir acarbose acetazolamide aciclovir acyclovir adalimumab albuterol alendronate allopurinol alprazolam
    amiodarone amitriptyline amlodipine amoxicillin amoxycillin anastrozole apixaban aripiprazole aspirin
    atenolol atorvastatin atovaquone azathioprine azithromycin baclofen beclomethasone bisoprolol brinzolamide
    budesonide bumetanide buprenorphine bupropion calcitriol candesartan captopril carbamazepine carbimazole
    carvedilol cefalexin ceftriaxone celecoxib cephalexin cetirizine chlorthalidone cholecalciferol ciclosporin
    ciprofloxacin citalopram clarithromycin clindamycin clonazepam clonidine clopidogrel clozapine codeine
    colchicine colecalciferol cyanocobalamin dabigatran dapagliflozin denosumab desvenlafaxine dexamethasone
    diazepam diclofenac digoxin diltiazem donepezil doxepin doxycycline dulaglutide duloxetine dutasteride
    empagliflozin enalapril enoxaparin eplerenone ertugliflozin erythromycin escitalopram esomeprazole estradiol
    etanercept exenatide ezetimibe famotidine felodipine fenofibrate ferrous finasteride flecainide
    flucloxacillin fluconazole fluoxetine fluticasone fluvoxamine folate folic formoterol frusemide furosemide
    gabapentin gentamicin gliclazide glimepiride glipizide glycopyrronium haloperidol hydrochlorothiazide
    hydrocortisone hydroxocobalamin hydroxychloroquine hyoscine ibuprofen indapamide infliximab insulin
    ipratropium irbesartan isosorbide isotretinoin ivabradine ketoprofen labetalol lamotrigine lansoprazole
    latanoprost leflunomide lercanidipine letrozole levetiracetam levodopa levonorgestrel levothyroxine
    linagliptin liraglutide lisinopril lithium loratadine lorazepam losartan lurasidone mefloquine melatonin
    meloxicam memantine mesalazine metformin methadone methotrexate methylphenidate metoclopramide metoprolol
    metronidazole mirtazapine montelukast morphine moxonidine mycophenolate naproxen natalizumab nebivolol
    neomycin nicorandil nifedipine nitrofurantoin nizatidine nortriptyline oestradiol olanzapine olmesartan
    omalizumab omeprazole ondansetron oseltamivir oxazepam oxybutynin oxycodone pantoprazole paracetamol
    paroxetine penicillin perindopril phenytoin pioglitazone pramipexole prasugrel pravastatin prazosin
    prednisolone prednisone pregabalin probenecid prochlorperazine progesterone proguanil propranolol
    propylthiouracil quetiapine quinapril rabeprazole raloxifene ramipril ranitidine risedronate risperidone
    rituximab rivaroxaban rizatriptan ropinirole rosuvastatin sacubitril salbutamol salmeterol saxagliptin
    secukinumab semaglutide sertraline sildenafil simvastatin sitagliptin solifenacin sotalol spironolactone
    sulfasalazine sumatriptan tacrolimus tadalafil tamoxifen tamsulosin tapentadol telmisartan temazepam
    terbinafine terbutaline thyroxine ticagrelor timolol tiotropium tizanidine tobramycin topiramate tramadol
    tranexamic trimethoprim umeclidinium ustekinumab valaciclovir valproate valsartan varenicline venlafaxine
    verapamil vilanterol vildagliptin vortioxetine warfarin zoledronic zolpidem zopiclone
    """
)

CONDITIONS = "|".join(
    """
    attention deficit hyperactivity disorder; chronic obstructive pulmonary disease; gastro-oesophageal
    reflux disease; post-traumatic stress disorder; obsessive compulsive disorder; benign prostatic
    hyperplasia; community acquired pneumonia; generalised anxiety disorder; systemic lupus
    erythematosus; peripheral vascular disease; primary biliary cholangitis; congestive cardiac failure;
    hashimoto['’]s thyroiditis; transient ischaemic attack; gastro-oesophageal reflux; major depressive
    disorder; polycystic kidney disease; polycystic ovary syndrome; cerebrovascular accident; irritable
    bowel syndrome; obstructive sleep apnoea; type 1 diabetes mellitus; type 2 diabetes mellitus;
    barrett['’]s oesophagus; coronary artery disease; iron deficiency anaemia; ischaemic heart disease;
    urinary tract infection; alzheimer['’]s disease; ankylosing spondylitis; carpal tunnel syndrome;
    chronic kidney disease; essential hypertension; parkinson['’]s disease; polymyalgia rheumatica;
    pulmonary hypertension; restless legs syndrome; cushing['’]s syndrome; hypercholesterolaemia;
    hypertriglyceridaemia; motor neurone disease; myocardial infarction; peripheral neuropathy;
    addison['’]s disease; basal cell carcinoma; chronic pancreatitis; deep vein thrombosis; diabetic
    nephropathy; diabetic retinopathy; diverticular disease; gestational diabetes; lumbar disc prolapse;
    macular degeneration; mitral regurgitation; peptic ulcer disease; rheumatoid arthritis; trigeminal
    neuralgia; vitamin d deficiency; acute kidney injury; atrial fibrillation; diabetic neuropathy;
    generalised anxiety; high blood pressure; psoriatic arthritis; reflux oesophagitis; sickle cell
    disease; acute pancreatitis; crohn['’]s disease; graves['’] disease; multiple sclerosis; nephrotic
    syndrome; pulmonary embolism; pulmonary fibrosis; ulcerative colitis; allergic rhinitis; atopic
    dermatitis; chronic back pain; colorectal cancer; diabetes mellitus; myasthenia gravis; pancreatic
    cancer; anxiety disorder; bipolar disorder; haemochromatosis; renal impairment; aortic stenosis;
    coeliac disease; cystic fibrosis; hepatitis [abc]; hyperlipidaemia; hyperthyroidism; inguinal
    hernia; iron deficiency; nephrolithiasis; prostate cancer; type 1 diabetes; type 2 diabetes; wound
    infection; atrial flutter; bladder cancer; bronchiectasis; cardiomyopathy; cholelithiasis;
    diverticulitis; graves disease; hypothyroidism; osteoarthritis; ovarian cancer; thyroid nodule;
    breast cancer; cholecystitis; dyslipidaemia; endometriosis; heart failure; hiatus hernia; kidney
    stones; pre-eclampsia; schizophrenia; appendicitis; bowel cancer; fibromyalgia; hearing loss; hip
    fracture; hypertension; osteoporosis; otitis media; pancreatitis; peptic ulcer; sleep apnoea;
    thalassaemia; tuberculosis; venous ulcer; fatty liver; hypotension; lung cancer; lymphoedema;
    menorrhagia; retinopathy; sarcoidosis; tonsillitis; acromegaly; bronchitis; cataracts?; cellulitis;
    depression; osteopenia; cirrhosis; emphysema; leukaemia; pneumonia; psoriasis; sinusitis; urticaria;
    dementia; diabetes; epilepsy; glaucoma; insomnia; lymphoma; melanoma; migraine; shingles; tinnitus;
    vitiligo; anaemia; anxiety; malaria; obesity; rosacea; vertigo; angina; asthma; eczema; sepsis;
    stroke; lupus; acne; adhd; copd; gord; gout
    """.strip()
    .replace("\n    ", " ")
    .split("; ")
)
"""The longest first, so that the whole name is taken."""

SUBSTANCES = _words(
    """
    adhesive amoxicillin aspirin banana bee cats cefalexin cephalexin cephalosporins chlorhexidine ciprofloxacin
    codeine contrast dogs dust egg eggs elastoplast erythromycin fish grass ibuprofen iodine kiwi latex
    metronidazole milk morphine mould neomycin nsaids nuts oxycodone peanut peanuts penicillin penicillins
    pollen prawns seafood sesame shellfish soy statins strawberries sulfa sulfamethoxazole sulfonamides sulfur
    sulphonamides tape tetracycline tramadol trimethoprim vancomycin wasp wheat
    """
)

REACTIONS = (
    "rash|hives|urticaria|anaphylaxis|angioedema|swelling|itch|itching|pruritus|nausea|vomiting"
    "|diarrhoea|wheeze"
    "|bronchospasm|breathlessness|hypotension|stevens-johnson syndrome|gi upset|gastrointestinal upset|headache"
    "|facial swelling|collapse|flushing|dizziness|muscle pain|dermatitis|cough"
)

NO_MEDICINES = _words(
    """
    about above after again aged another approximately around before below between by calcium capsule capsules
    cholesterol commenced creatinine currently daily dose dosed doses each every ferritin for from given glucose
    haemoglobin height increase increased least limit lost maximum most of over per plus potassium receive
    received reduce reduced sodium started strength tablet tablets takes taking than then titrate titrated total
    under until upto urea used weight with within
    """
)
"""Words that stand before an amount without being a medicine."""
